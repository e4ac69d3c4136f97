// The offers: from which revision until which, with the index entries, which stay as long as the offer is known, and
// what each package provides.
import { sql } from 'kysely'
import { isRefused } from '../../domain/transitions.ts'
import type { PackageStatus } from '../../domain/status.ts'
import type { Db } from '../../store/db.ts'
import type { OfferCause } from '../../store/tables.ts'
import { storeEntries, type StreamEntry } from '../../store/records/entry-pieces.ts'

export interface Offering {
  id: number
  /** the first revision that offers it: its place in the index */
  revision: number
  cause: OfferCause
  entries: readonly StreamEntry[]
}

/**
 * Offers records from their revisions on, and stores what the publisher needs: their index entries, and what they provide and
 * need. The database takes the latter from the facts that it has.
 */
export async function offer(tx: Db, records: readonly Offering[]): Promise<void> {
  await storeEntries(tx, records)
  // Each field is read from the facts once: reading them for each of 65,000 provides would unpack 8 MB each time.
  await sql`with record as materialized (
      select p.id, p.distribution, p.name, p.version, p.arch, p.sha256, b.filename, given.revision, given.cause,
        b.facts->>'multiArch' as multi_arch, b.facts->'provides' as provides, b.facts->'requirements' as requirements
      from unnest(${records.map(({ id }) => id)}::bigint[], ${records.map(({ revision }) => revision)}::bigint[],
        ${records.map(({ cause }) => cause)}::text[]) as given (id, revision, cause)
      join packages p on p.id = given.id join blobs b on b.sha256 = p.sha256
    ), offered as (
      insert into offers (distribution, package_id, from_revision, sha256, filename, name, version, arch, began_by)
      select distribution, id, revision, sha256, filename, name, version, arch, cause from record
    ), needing as (
      insert into dependents (package_id, distribution, name)
      select distinct record.id, record.distribution, relation->>'name' from record
      cross join lateral jsonb_array_elements(record.requirements) as requirement
      cross join lateral jsonb_array_elements(requirement->'anyOf') as relation
      where (requirement->>'strong')::boolean
    )
    insert into capabilities (package_id, distribution, name, version, arch, multi_arch)
    select record.id, record.distribution, capability.name, nullif(capability.version, ''), record.arch, record.multi_arch
    from record cross join lateral (
      select record.name, record.version
      union all
      select provided->>'name', provided->>'version' from jsonb_array_elements(record.provides) as provided
    ) as capability (name, version)`.execute(tx)
}

/**
 * The opposite of `offer`.
 * @param graceMs by default the package file is deleted as soon as no live index names it
 */
export async function unpublish(tx: Db, id: number, revision: number, cause: OfferCause, graceMs = 0): Promise<void> {
  await tx.deleteFrom('capabilities').where('package_id', '=', id).execute()
  await tx.deleteFrom('dependents').where('package_id', '=', id).execute()
  await endOffers(tx, [{ id, revision }], cause, graceMs)
}

/** Replaces an offer by one of another file, or of another entry of the same file: a new offer, at the same revision. */
export async function replaceOffer(tx: Db, by: Offering, graceMs: number): Promise<void> {
  await unpublish(tx, by.id, by.revision, by.cause, graceMs)
  await offer(tx, [by])
}

export interface EndedOffer {
  id: number
  /** the first revision without it */
  revision: number
}

/**
 * Ends the offers of records.
 * @param graceMs how long clients with an older index may still fetch the files
 */
export async function endOffers(
  tx: Db,
  ended: readonly EndedOffer[],
  cause: OfferCause,
  graceMs: number,
): Promise<void> {
  if (ended.length === 0) return
  // An offer that never was in a publication keeps no bytes.
  await sql`update offers set until_revision = ended.revision, ended_by = ${cause}, ended_at = now(),
      keeps_bytes = keeps_bytes and from_revision <= (select published_revision from distributions where codename = offers.distribution),
      unlink_at = now() + ${graceMs / 1000}::float8 * interval '1 second'
    from unnest(${ended.map(({ id }) => id)}::bigint[], ${ended.map(({ revision }) => revision)}::bigint[]) as ended (id, revision)
    where package_id = ended.id and until_revision is null`.execute(tx)
}

/** Past publications still name a refused file, but do not keep its bytes. */
export async function noteRefusal(tx: Db, id: number, status: PackageStatus): Promise<void> {
  await tx
    .updateTable('offers')
    .set({ keeps_bytes: !isRefused(status) })
    .where('package_id', '=', id)
    .execute()
}
