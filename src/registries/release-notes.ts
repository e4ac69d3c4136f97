// What is said about one version without replacing what else was said about it.
import { sql } from 'kysely'
import type { AuditLog } from '../audit/log.ts'
import type { KeptAttestation } from '../domain/provenance.ts'
import type { Db } from '../store/db.ts'
import { transaction } from '../store/transaction.ts'
import { requireVersions, type NameIn } from './names.ts'
import type { Actor } from './repositories.ts'

export interface Release extends NameIn {
  version: string
}

export interface ReleaseNotes {
  /** @param reason null takes it back; it may be empty @throws Problem('not_found') */
  yank(of: Release, reason: string | null, by: Actor): Promise<void>
  /** Keeps verified attestations of a file, in place of earlier ones. @throws Problem('not_found') */
  attest(of: Release, filename: string, attestations: readonly KeptAttestation[], by: Actor): Promise<void>
}

/** Clients see a change once the repository is published again (`publisher.converge`). */
export function createReleaseNotes({ db, audit }: { db: Db; audit: AuditLog }): ReleaseNotes {
  async function change(of: Release, by: Actor, action: string, extra: object, to: ReturnType<typeof sql>) {
    const { repository, name, version } = of
    await transaction(db, async (tx) => {
      await requireVersions(tx, of, [version])
      await tx
        .insertInto('version_notes')
        .values({ repository, name, version, note: '{}' })
        .onConflict((c) => c.doNothing())
        .execute()
      await sql`update version_notes set note = ${to}
        where repository = ${repository} and name = ${name} and version = ${version}`.execute(tx)
      await audit.record(
        {
          ...{ action, result: 'SUCCESS', user: by.name, package: name, version, distribution: repository },
          ...{ ip: by.origin.ip, requestId: by.origin.requestId, extra: { ...extra } },
        },
        tx,
      )
    })
  }

  return {
    yank: (of, reason, by) =>
      reason === null
        ? change(of, by, 'VERSION_UNYANKED', {}, sql`note - 'yanked'`)
        : change(of, by, 'VERSION_YANKED', { reason }, sql`note || ${JSON.stringify({ yanked: reason })}::jsonb`),
    attest: (of, filename, attestations, by) =>
      change(
        of,
        by,
        'ATTESTATIONS_KEPT',
        { filename, count: attestations.length },
        sql`note || jsonb_build_object(
          'attestations', coalesce(note -> 'attestations', '{}') || ${ofFile(
            filename,
            attestations.map(({ attestation }) => attestation),
          )}::jsonb,
          'publishers', coalesce(note -> 'publishers', '{}') || ${ofFile(
            filename,
            attestations.map(({ publisher }) => publisher),
          )}::jsonb)`,
      ),
  }
}

const ofFile = (filename: string, values: unknown[]): string => JSON.stringify({ [filename]: values })
