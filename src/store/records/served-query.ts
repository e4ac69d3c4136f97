// Reads of what clients are offered, in pages by key, so that no answer is held in memory whole.
import { sql } from 'kysely'
import type { Db } from '../db.ts'

const PAGE = 1000

export function distributionRows(db: Db) {
  return db.selectFrom('distributions').selectAll().execute()
}

/** File names of served packages, each once, sorted. */
export async function* servedFilenames(db: Db): AsyncGenerator<string[]> {
  let after = ''
  for (;;) {
    const rows = await db
      .selectFrom('packages')
      .select('filename')
      .distinct()
      .where(sql<boolean>`served`)
      .where('filename', '>', after)
      .orderBy('filename')
      .limit(PAGE)
      .execute()
    if (rows.length > 0) yield rows.map((row) => row.filename)
    if (rows.length < PAGE) return
    after = rows.at(-1)?.filename ?? after
  }
}

/** Served packages of a distribution, by name, then in the order they came. */
export async function* servedPackages(
  db: Db,
  codename: string,
): AsyncGenerator<{ name: string; version: string; arch: string }[]> {
  let after = { name: '', id: 0 }
  for (;;) {
    const { name, id } = after
    const rows = await db
      .selectFrom('packages')
      .select(['id', 'name', 'version', 'arch'])
      .where('distribution', '=', codename)
      .where('served', '=', true)
      .where((eb) => eb.or([eb('name', '>', name), eb.and([eb('name', '=', name), eb('id', '>', id)])]))
      .orderBy('name')
      .orderBy('id')
      .limit(PAGE)
      .execute()
    if (rows.length > 0) yield rows.map((row) => ({ name: row.name, version: row.version, arch: row.arch }))
    if (rows.length < PAGE) return
    after = rows.at(-1) ?? after
  }
}
