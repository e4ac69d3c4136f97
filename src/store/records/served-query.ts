// Reads what clients are offered, in pages by key, so that no answer is completely in memory.
import { sql } from 'kysely'
import type { PackageStatus } from '../../domain/status.ts'
import type { Db } from '../db.ts'

const PAGE = 1000

export function distributionRows(db: Db) {
  return db.selectFrom('distributions').selectAll().execute()
}

/** Whether package clients must sign in. */
export async function isPrivateDistribution(db: Db, codename: string): Promise<boolean> {
  const row = await db.selectFrom('distributions').select('private').where('codename', '=', codename).executeTakeFirst()
  return row?.private ?? false
}

/** @returns 0 for a distribution that was never published */
export async function revisionOf(db: Db, codename: string): Promise<number> {
  const row = await db
    .selectFrom('distributions')
    .select('revision')
    .where('codename', '=', codename)
    .executeTakeFirst()
  return row?.revision ?? 0
}

/** File names of served packages, each once, sorted. */
export async function* servedFilenames(db: Db): AsyncGenerator<string[]> {
  let after = ''
  for (;;) {
    const rows = await db
      .selectFrom('offers')
      .select('filename')
      .distinct()
      .where('until_revision', 'is', null)
      .where('filename', '>', after)
      .orderBy('filename')
      .limit(PAGE)
      .execute()
    if (rows.length > 0) yield rows.map((row) => row.filename)
    if (rows.length < PAGE) return
    after = rows.at(-1)?.filename ?? after
  }
}

/** Where the next page of a distribution's offers begins. */
export interface OfferPlace {
  name: string
  package_id: number
}

export const BEFORE_ALL: OfferPlace = { name: '', package_id: 0 }

/** The next offers of a distribution after a place, by name, then in the order of arrival. The caller selects columns. */
export function nextOffers(db: Db, codename: string, { name, package_id: id }: OfferPlace, limit: number) {
  return db
    .selectFrom('offers')
    .where('offers.distribution', '=', codename)
    .where('offers.until_revision', 'is', null)
    .where(sql<boolean>`(offers.name, offers.package_id) > (${name}, ${id}::bigint)`)
    .orderBy('offers.name')
    .orderBy('offers.package_id')
    .limit(limit)
}

/** Served packages of a distribution, by name, then in the order of arrival. */
export async function* servedPackages(
  db: Db,
  codename: string,
): AsyncGenerator<{ name: string; version: string; arch: string }[]> {
  let after = BEFORE_ALL
  for (;;) {
    const rows = await nextOffers(db, codename, after, PAGE).select(['name', 'package_id', 'version', 'arch']).execute()
    if (rows.length > 0) yield rows.map((row) => ({ name: row.name, version: row.version, arch: row.arch }))
    if (rows.length < PAGE) return
    after = rows.at(-1) ?? after
  }
}

/** An offer of one distribution, and the record of another one with the same name, version and architecture. */
export interface ComparedOffer {
  name: string
  version: string
  arch: string
  /** whether that record has the same bytes; null when there is none */
  taken: boolean | null
  status: PackageStatus | null
  /** whether the bytes were rejected in some distribution */
  rejected: boolean
}

/** The offers of a distribution, each compared with the same package of another one, in the order of names. */
export async function* comparedOffers(db: Db, from: string, to: string): AsyncGenerator<ComparedOffer[]> {
  let after = BEFORE_ALL
  for (;;) {
    const page = nextOffers(db, from, after, PAGE).select(['name', 'version', 'arch', 'sha256', 'package_id'])
    const { rows } = await sql<ComparedOffer & OfferPlace>`
      select o.name, o.version, o.arch, o.package_id, there.sha256 = o.sha256 as taken, there.status,
        exists (select from packages r where r.sha256 = o.sha256 and r.status = 'rejected')
          or exists (select from packages r where r.received_sha256 = o.sha256 and r.status = 'rejected') as rejected
      from (${page}) o left join packages there on there.distribution = ${to}
        and there.name = o.name and there.version = o.version and there.arch = o.arch
      order by o.name, o.package_id`.execute(db)
    yield rows
    if (rows.length < PAGE) return
    after = rows.at(-1) ?? after
  }
}
