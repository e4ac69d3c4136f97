// What is stored about a record beside its row: evidence, findings of another version, decisions about the same advisories.
import { sql } from 'kysely'
import type { Severity } from '../../domain/finding.ts'
import type { Db } from '../../store/db.ts'
import type { DecisionRow, PackageRow } from '../../store/tables.ts'

/** Most evidence rows of one record that are read. */
const MOST_EVIDENCE = 50

/** The evidence about a record: rows in force first, then the others, newest first; 50 at most. */
export async function evidenceOf(db: Db, id: number) {
  return db
    .selectFrom('evidence')
    .select(['kind', 'engine', 'data_version', 'generation', 'at', 'last_at', 'replaced_at', 'body'])
    .where('package_id', '=', id)
    .orderBy(sql`replaced_at is not null`)
    .orderBy('last_at', 'desc')
    .orderBy('kind')
    .limit(MOST_EVIDENCE)
    .execute()
}

/** Most advisories of a record that are looked up. */
const MOST_LOOKED_UP = 500

export async function findingIds(db: Db, packageId: number): Promise<{ id: string; severity: Severity }[]> {
  return db.selectFrom('findings').select(['cve as id', 'severity']).where('package_id', '=', packageId).execute()
}

/** The last decisions about a record, and about any package with one of these advisories. */
export async function pastDecisions(
  db: Db,
  { id, cves, limit }: { id: number; cves: readonly string[]; limit: number },
): Promise<DecisionRow[]> {
  const looked = cves.slice(0, MOST_LOOKED_UP)
  const about = sql<DecisionRow>`
    select * from (
      (select * from decisions where package_id = ${id}::bigint order by id desc limit ${limit})
      union
      (select * from decisions where jsonb_path_query_array(covers, '$[*].id') ?| ${looked}::text[]
        order by id desc limit ${limit})
    ) found order by id desc limit ${limit}`
  return (await about.execute(db)).rows
}

const MOST_OTHERS = 20

/** The first records of the same version elsewhere. */
export async function othersOf(db: Db, row: PackageRow) {
  const rows = await db
    .selectFrom('records')
    .select(['distribution', 'arch', 'status', 'served', 'sha256'])
    .where('name', '=', row.name)
    .where('version', '=', row.version)
    .where('id', '!=', row.id)
    .orderBy('id')
    .limit(MOST_OTHERS)
    .execute()
  return rows.map(({ sha256, ...place }) => ({ ...place, same_bytes: sha256 === row.sha256 }))
}
