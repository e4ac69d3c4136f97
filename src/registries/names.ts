// What people say about a name in a hosted repository besides publishing files: tags, notes on versions, and spent versions.
import { sql } from 'kysely'
import type { AuditLog } from '../audit/log.ts'
import { Problem } from '../domain/problem.ts'
import type { VersionNote } from '../domain/repositories.ts'
import type { Clock } from '../kernel/clock.ts'
import { notesOf } from '../publish/listing/listing-query.ts'
import type { Db } from '../store/db.ts'
import { transaction } from '../store/transaction.ts'
import type { Actor } from './repositories.ts'

/** A name in a hosted repository. */
export interface NameIn {
  repository: string
  name: string
}

export interface Names {
  /** by version */
  notesOf(of: NameIn): Promise<Record<string, VersionNote>>
  /** @throws Problem('not_found') when the repository does not have the version */
  setTag(of: NameIn, tag: string, version: string, by: Actor): Promise<void>
  /** @throws Problem('not_found') */
  removeTag(of: NameIn, tag: string, by: Actor): Promise<void>
  /** Removes the tags whose versions are gone. */
  removeLostTags(of: NameIn, by: Actor): Promise<void>
  /** Replaces the notes on these versions; an empty note removes what was said. @throws Problem('not_found') for another version */
  note(of: NameIn, notes: Readonly<Record<string, VersionNote>>, by: Actor): Promise<void>
  /**
   * A version that was deleted comes back with the same bytes only.
   * @throws Problem('version_spent')
   */
  requireUnspent(of: NameIn, file: { version: string; arch: string; sha256: string }): Promise<void>
}

/** They stay until the transaction ends. @throws Problem('not_found') when the repository does not have one of the versions */
export async function requireVersions(
  tx: Db,
  { repository, name }: NameIn,
  versions: readonly string[],
): Promise<void> {
  const { rows } = await sql<{ version: string }>`select version from packages
    where distribution = ${repository} and name = ${name} and version = any(${versions}::text[])
    order by id for key share`.execute(tx)
  const known = new Set(rows.map(({ version }) => version))
  const missing = versions.find((version) => !known.has(version))
  if (missing !== undefined) throw new Problem('not_found', `${repository} has no ${name} ${missing}`)
}

/** Clients see a change once the repository is published again (`publisher.converge`). */
export function createNames({ db, clock, audit }: { db: Db; clock: Clock; audit: AuditLog }): Names {
  const record = (tx: Db, action: string, { repository, name }: NameIn, by: Actor, extra: Record<string, unknown>) =>
    audit.record(
      {
        ...{ action, result: 'SUCCESS', user: by.name, package: name, distribution: repository },
        ...{ ip: by.origin.ip, requestId: by.origin.requestId, extra },
      },
      tx,
    )

  return {
    notesOf: (of) => notesOf(db, of),
    setTag: (of, tag, version, by) =>
      transaction(db, async (tx) => {
        await requireVersions(tx, of, [version])
        const changed = { version, changed_at: clock.now(), changed_by: by.name }
        await tx
          .insertInto('tags')
          .values({ ...of, tag, ...changed })
          .onConflict((c) => c.columns(['repository', 'name', 'tag']).doUpdateSet(changed))
          .execute()
        await record(tx, 'TAG_SET', of, by, { tag, version })
      }),
    removeTag: (of, tag, by) =>
      transaction(db, async (tx) => {
        const removed = await tx
          .deleteFrom('tags')
          .where('repository', '=', of.repository)
          .where('name', '=', of.name)
          .where('tag', '=', tag)
          .returning('version')
          .executeTakeFirst()
        if (!removed) throw new Problem('not_found', `${of.name} has no tag ${tag}`)
        await record(tx, 'TAG_REMOVED', of, by, { tag, version: removed.version })
      }),
    removeLostTags: (of, by) =>
      transaction(db, async (tx) => {
        const removed = await tx
          .deleteFrom('tags as t')
          .where('t.repository', '=', of.repository)
          .where('t.name', '=', of.name)
          .where(({ not, exists, selectFrom }) =>
            not(
              exists(
                selectFrom('packages as p')
                  .select('p.id')
                  .where('p.distribution', '=', of.repository)
                  .where('p.name', '=', of.name)
                  .whereRef('p.version', '=', 't.version'),
              ),
            ),
          )
          .returning(['tag', 'version'])
          .execute()
        for (const lost of removed) await record(tx, 'TAG_REMOVED', of, by, lost)
      }),
    note: (of, notes, by) =>
      transaction(db, async (tx) => {
        await requireVersions(tx, of, Object.keys(notes))
        // Together: npm deprecates a whole package version by version.
        const [said, unsaid] = [new Map<string, string>(), [] as string[]]
        for (const [version, note] of Object.entries(notes))
          if (Object.keys(note).length > 0) said.set(version, JSON.stringify(note))
          else unsaid.push(version)
        await sql`insert into version_notes (repository, name, version, note)
          select ${of.repository}, ${of.name}, version, note::jsonb
          from unnest(${[...said.keys()]}::text[], ${[...said.values()]}::text[]) as said (version, note)
          on conflict (repository, name, version) do update set note = excluded.note`.execute(tx)
        await sql`delete from version_notes
          where repository = ${of.repository} and name = ${of.name} and version = any(${unsaid}::text[])`.execute(tx)
        await record(tx, 'VERSION_NOTED', of, by, { notes })
      }),
    async requireUnspent({ repository, name }, { version, arch, sha256 }) {
      const spent = await db
        .selectFrom('spent_versions')
        .select('sha256')
        .where('repository', '=', repository)
        .where('name', '=', name)
        .where('version', '=', version)
        .where('arch', '=', arch)
        .executeTakeFirst()
      if (spent && spent.sha256 !== sha256)
        throw new Problem('version_spent', `${name} ${version} was published here before with other bytes, and deleted`)
    },
  }
}
