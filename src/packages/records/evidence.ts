// Evidence as rows. Runs in the transaction of the change, which has locked the record's distribution.
import { sql } from 'kysely'
import type { Seen } from '../../domain/evidence.ts'
import { countSeverities } from '../../domain/finding.ts'
import { canonicalJson } from '../../domain/json.ts'
import { packFound, type About } from '../../domain/stored-evidence.ts'
import { sha256Hex } from '../../kernel/crypto.ts'
import { createPacer } from '../../kernel/pacer.ts'
import type { Db } from '../../store/db.ts'
import type { EvidenceBody } from '../../store/tables.ts'

/** The columns of a record that its evidence depends on. */
export type Judged = About & { id: number }

interface Row {
  package_id: number
  kind: string
  engine: string | null
  data_version: string | null
  generation: number | null
  behind: boolean
  digest: string
  body: EvidenceBody
  /** digest in `finding_sets` */
  findings: string | null
}

/** Characters of findings in one statement. */
const MOST_TEXT = 1024 * 1024

/** Stores the evidence about new records. */
export async function insertEvidence(
  tx: Db,
  records: readonly { record: Judged; seen: readonly Seen[] }[],
  at: Date,
): Promise<void> {
  const sets = new Map<string, string>()
  const inForce = await generationInForce(
    tx,
    records.flatMap(({ seen }) => seen),
  )
  // The findings of one kernel take 30 ms to pack (measured: 3,000).
  const pace = createPacer()
  const rows: Row[] = []
  for (const { record, seen } of records) {
    for (const one of seen) rows.push(rowOf(record, one, inForce, sets))
    await pace()
  }
  await insertRows(tx, rows, sets, at)
}

/** Stores the evidence of later checks. Unchanged evidence only updates the time and the versions of the row in force. */
export async function noteEvidence(tx: Db, record: Judged, seen: readonly Seen[], at: Date): Promise<void> {
  const inForce = await generationInForce(tx, seen)
  for (const one of seen) {
    const sets = new Map<string, string>()
    const row = rowOf(record, one, inForce, sets)
    const { engine, data_version, generation, behind } = row
    const { numUpdatedRows } = await current(tx, record.id, row.kind)
      .set({ engine, data_version, generation, behind, last_at: at, body: JSON.stringify(row.body) })
      .where('digest', '=', row.digest)
      .executeTakeFirst()
    if (numUpdatedRows > 0n) continue
    await current(tx, record.id, row.kind).set({ replaced_at: at, behind: false }).execute()
    await insertRows(tx, [row], sets, at)
  }
}

const current = (tx: Db, id: number, kind: string) =>
  tx.updateTable('evidence').where('package_id', '=', id).where('kind', '=', kind).where('replaced_at', 'is', null)

/** Copies the evidence about records to their copies, except for steps that were checked again for the copy. */
export async function copyEvidence(tx: Db, copies: readonly { from: number; to: number }[]): Promise<void> {
  const [from, to] = [copies.map((one) => one.from), copies.map((one) => one.to)]
  await sql`insert into evidence (package_id, kind, engine, data_version, generation, at, last_at, behind, digest, body, findings)
    select c.copy, kind, engine, data_version, generation, at, last_at, behind, digest, body, findings
    from unnest(${from}::bigint[], ${to}::bigint[]) as c (source, copy) join evidence e on e.package_id = c.source
    where replaced_at is null
      and not exists (select 1 from evidence o where o.package_id = c.copy and o.kind = e.kind)`.execute(tx)
}

/**
 * The generation of advisories in force. It stays in force until the transaction ends, because an import waits with its last
 * step (`store/advisories/import`). A match with an earlier generation is marked `behind`, because the match that follows an
 * import may have ended before the record existed.
 */
async function generationInForce(tx: Db, seen: readonly Seen[]): Promise<number | null> {
  if (!seen.some(({ generation }) => typeof generation === 'number')) return null
  const { rows } = await sql<{ generation: number }>`select generation from advisory_state for key share`.execute(tx)
  return rows[0]?.generation ?? null
}

function rowOf(record: Judged, seen: Seen, inForce: number | null, sets: Map<string, string>): Row {
  const { check: kind, result, received, message, detail, coverage, concern, generation = null } = seen
  const found = seen.findings ?? []
  const severities = found.length > 0 ? countSeverities(found) : undefined
  const body = { result, received, message, detail, coverage, concern, severities }
  const packed = packFound(found, record)
  const findings = packed === null ? null : sha256Hex(packed)
  if (packed !== null && findings !== null) sets.set(findings, packed)
  const same = { ...body, coverage: coverage && { ...coverage, engine_version: null, database_date: null } }
  return {
    ...{ package_id: record.id, kind, generation, body, findings },
    engine: coverage?.engine ?? null,
    data_version: coverage?.database_date ?? coverage?.engine_version ?? null,
    behind: generation !== null && generation !== inForce,
    // Compared with the row in force alone, so half of it does.
    digest: sha256Hex(canonicalJson([same, findings])).slice(0, 32),
  }
}

async function insertRows(tx: Db, rows: readonly Row[], sets: ReadonlyMap<string, string>, at: Date): Promise<void> {
  if (rows.length === 0) return
  // In a fixed order, because the rows stay locked: so retention deletes no set that this transaction is about to refer to.
  for (const some of bySize([...sets].sort()))
    await sql`insert into finding_sets (digest, findings, used_at)
      select digest, findings::jsonb, ${at}::timestamptz
      from unnest(${some.map(([digest]) => digest)}::text[], ${some.map(([, text]) => text)}::text[]) as s (digest, findings)
      on conflict (digest) do update set used_at = excluded.used_at`.execute(tx)
  await sql`insert into evidence (package_id, kind, engine, data_version, generation, at, last_at, behind, digest, body, findings)
    select package_id, kind, engine, data_version, generation, ${at}::timestamptz, ${at}::timestamptz, behind, digest, body, findings
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as r (package_id bigint, kind text, engine text, data_version text,
      generation bigint, behind boolean, digest text, body jsonb, findings text)`.execute(tx)
}

/** In groups of a megabyte of text, or of one larger set: a statement of 26 MB ended the embedded database (out of memory). */
function bySize(sets: readonly (readonly [digest: string, text: string])[]) {
  const groups: (typeof sets)[number][][] = []
  let size = Infinity
  for (const set of sets) {
    if (size + set[1].length > MOST_TEXT) {
      groups.push([])
      size = 0
    }
    groups.at(-1)?.push(set)
    size += set[1].length
  }
  return groups
}
