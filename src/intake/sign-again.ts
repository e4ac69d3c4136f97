// Signs stored packages again whose signature clients refuse: until this build, ours did not cover the payload of rpm packages
// that were built by rpm before 4.14. An upgrade starts this task once.
import { readKeys } from 'openpgp'
import { sql } from 'kysely'
import { isProblem, Problem } from '../domain/problem.ts'
import type { TaskKind, TaskProgress } from '../domain/tasks.ts'
import type { IntakeFormat, Placed } from '../formats/intake-format.ts'
import { signedCopy, type SignatureDeps } from '../gate/signature.ts'
import { isoTime } from '../kernel/clock.ts'
import { removeFile } from '../kernel/files.ts'
import { changeRecord } from '../packages/records/change-record.ts'
import { lockRecords } from '../packages/records/lock-order.ts'
import { renderNew, type Rendered } from '../packages/records/entries.ts'
import { blobRow } from '../packages/records/stored-file.ts'
import type { Publisher } from '../publish/publisher.ts'
import type { AuditLog } from '../audit/log.ts'
import type { Db } from '../store/db.ts'
import { transaction } from '../store/transaction.ts'
import { insertBlobs, withBytes, type SeenRemovals } from '../store/files/with-bytes.ts'
import type { FileId, Pool } from '../store/files/pool.ts'
import type { Staging } from '../store/files/staging.ts'
import type { Manifests } from '../packages/records/manifests.ts'
import type { PackageRow } from '../store/tables.ts'

export const SIGN_AGAIN = 'sign_again'
/** Files between two saves of the cursor, and two publishes. */
const TOGETHER = 50
/** Statuses of packages that are or may be served. Refused ones are signed when a rescan clears them. */
const STATUSES = ['published', 'pending_review'] as const

export interface SignAgainDeps extends Pick<SignatureDeps, 'signers' | 'clock' | 'newPath'> {
  db: Db
  audit: AuditLog
  pool: Pool
  staging: Pick<Staging, 'identify' | 'discard'>
  manifests: Pick<Manifests, 'write'>
  publisher: Pick<Publisher, 'converge'>
  formats: readonly IntakeFormat[]
  find(codename: string): Placed | null
  onError(error: unknown): void
}

interface Cursor {
  /** SHA-256 of the last file that was checked */
  after: string
  /** when the run began: files stored later are signed correctly */
  began_at: string
  looked_at: number
  signed_again: number
  failed: number
}

export function signAgainKind(deps: SignAgainDeps): TaskKind {
  return {
    kind: SIGN_AGAIN,
    lane: 'maintenance',
    leaderOnly: false,
    async run(context) {
      const { looked_at, signed_again, failed } = await signAgain(deps, context)
      return { looked_at, signed_again, failed }
    },
  }
}

/** @param context the cursor continues an interrupted run; a file that is signed correctly is only checked */
export async function signAgain(deps: SignAgainDeps, context: TaskProgress): Promise<Cursor> {
  const state: Cursor = (context.cursor as Cursor | null) ?? {
    ...{ after: '', began_at: isoTime(deps.clock.now()) },
    ...{ looked_at: 0, signed_again: 0, failed: 0 },
  }
  const keyIds = await ownKeyIds(deps)
  for (;;) {
    const files = await signedByUs(deps, keyIds, state)
    if (files.length === 0) break
    const changed = new Set<string>()
    for (const file of files) {
      context.signal.throwIfAborted()
      const outcome = await signFileAgain(deps, file).catch((error: unknown) => {
        // An outage ends the run; it does not pass over the files that it cannot read.
        if (isProblem(error, 'storage_unavailable')) throw error
        context.line(`${file.filename} could not be signed again: ${textOf(error)}`)
        return null
      })
      state.looked_at++
      if (outcome === null) state.failed++
      else if (outcome.length > 0) state.signed_again++
      for (const row of outcome ?? []) {
        changed.add(row.distribution)
        context.line(`${row.name} ${row.version} (${row.arch}) in ${row.distribution} is signed again`)
      }
      state.after = file.sha256
    }
    for (const codename of changed) await deps.publisher.converge(codename)
    await context.save({ ...state })
  }
  const { looked_at, signed_again, failed } = state
  context.line(`${looked_at} files with our signature looked at, ${signed_again} signed again, ${failed} failed`)
  return state
}

const textOf = (error: unknown) => (error instanceof Problem ? error.detail : String(error))

/** The ids of our key and its subkeys, as a file's facts name them. */
async function ownKeyIds({ signers }: SignAgainDeps): Promise<string[]> {
  const keys = await readKeys({ armoredKeys: signers.openpgp.publicKeyArmored })
  return keys.flatMap((key) => key.getKeys().map((part) => part.getKeyID().toHex().toUpperCase()))
}

async function signedByUs(
  { db, formats }: SignAgainDeps,
  keyIds: readonly string[],
  { after, began_at }: Cursor,
): Promise<FileId[]> {
  const signing = formats.filter(({ isSignedWhole }) => isSignedWhole).map(({ id }) => id)
  const signatures = keyIds.map((keyId) => sql`facts->'signatures' @> ${JSON.stringify([{ keyId }])}::jsonb`)
  return db
    .selectFrom('blobs')
    .select(['sha256', 'format', 'filename'])
    .where('format', 'in', signing)
    .where('sha256', '>', after)
    .where('created_at', '<', new Date(began_at))
    .where((eb) =>
      eb.exists(
        eb
          .selectFrom('packages')
          .select('id')
          .whereRef('packages.sha256', '=', 'blobs.sha256')
          .where('status', 'in', STATUSES),
      ),
    )
    .where(sql<boolean>`(${sql.join(signatures, sql` or `)})`)
    .orderBy('sha256')
    .limit(TOGETHER)
    .execute()
}

/** @returns the records that have the new file; none if clients accept the old one */
async function signFileAgain(deps: SignAgainDeps, file: FileId): Promise<PackageRow[]> {
  const { pool, staging } = deps
  const rows = await recordsWith(deps.db, file.sha256)
  const format = rows.map(({ distribution }) => deps.find(distribution)).find((one) => one !== null)?.format
  if (!format?.isSignedWhole || (await isSignedWell(pool, file, format.isSignedWhole))) return []
  const signed = await pool.withFile(file, (path) => signedCopy(deps, { path, format }))
  if (!signed) throw new Problem('not_found', 'its bytes are gone')
  const path = await staging.identify(signed.path, { ...file, sha256: signed.digests.sha256 })
  try {
    const verdict = await format.verifySignature!(path, [deps.signers.openpgp.publicKeyArmored])
    if (verdict.outcome !== 'verified') throw new Problem('invalid_package', `its signature is ${verdict.outcome}`)
    const done = await replaceFile(deps, file, { ...signed, path }, rows)
    await removeFile(path)
    await deps.manifests.write(done.map(({ id }) => id)).catch(deps.onError)
    return done
  } catch (error) {
    await staging.discard(path)
    throw error
  }
}

/** Gives all records of a file its signed copy in one transaction: two signatures of the same file are different bytes. */
async function replaceFile(
  deps: SignAgainDeps,
  file: FileId,
  signed: Awaited<ReturnType<typeof signedCopy>>,
  rows: readonly PackageRow[],
): Promise<PackageRow[]> {
  const { db, audit } = deps
  const { sha256 } = signed.digests
  const hold = deps.pool.hold(signed.path, { ...file, sha256 }, 'pool')
  const blob = blobRow({ ...signed, filename: file.filename }, signed.facts, deps.clock.now())
  const rendered = new Map<number, Rendered>()
  for (const row of rows) {
    const offered = deps.find(row.distribution)
    if (offered && row.served)
      rendered.set(row.id, { sha256, entries: await renderNew(row, blob, signed.facts, offered) })
  }
  async function transact(tx: Db, seen: SeenRemovals): Promise<PackageRow[]> {
    const ids = rows.map(({ id }) => id)
    await lockRecords(tx, ids)
    await insertBlobs(tx, [blob], seen)
    await tx.insertInto('pending_deletions').values({ kind: 'file', key: file.sha256 }).execute()
    const replaced: PackageRow[] = []
    for (const before of await recordsWith(tx, file.sha256)) {
      const offered = deps.find(before.distribution)
      if (!offered || !ids.includes(before.id)) continue
      const change = {
        event: 'sign_again' as const,
        set: { sha256 },
        rendered: rendered.get(before.id) ?? null,
        audit: auditOf(before, sha256),
      }
      replaced.push((await changeRecord(tx, audit, before, change, offered)).row)
    }
    return replaced
  }
  return withBytes(
    db,
    () => hold.ensure(),
    (seen) => transaction(db, (tx) => transact(tx, seen)),
  )
}

async function isSignedWell(
  pool: Pool,
  file: FileId,
  isSignedWhole: NonNullable<Placed['format']['isSignedWhole']>,
): Promise<boolean> {
  const bytes = await pool.open(file, 'pool')
  if (!bytes) throw new Problem('not_found', 'its bytes are gone')
  try {
    return await isSignedWhole(bytes.stream())
  } finally {
    await bytes.close()
  }
}

const recordsWith = (db: Db, sha256: string): Promise<PackageRow[]> =>
  db
    .selectFrom('records')
    .selectAll()
    .where('sha256', '=', sha256)
    .where('status', 'in', STATUSES)
    .orderBy('distribution')
    .orderBy('id')
    .execute()

const auditOf = ({ name, version, distribution, arch, status, sha256: previous }: PackageRow, sha256: string) => ({
  ...{ action: 'SIGN_AGAIN', result: 'SUCCESS' as const, user: 'system' },
  ...{ package: name, version, distribution, arch, outcome: status },
  detail: 'clients refused the signature, which did not cover the payload',
  extra: { sha256, previous_sha256: previous },
})
