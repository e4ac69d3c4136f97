// Repositories of libraries: made, changed and removed at run time.
import { sql, type Selectable } from 'kysely'
import { createPlaceRights, type PlaceRights } from '../accounts/readers/place-rights.ts'
import type { AuditLog } from '../audit/log.ts'
import type { AuditEvent, Origin } from '../domain/audit.ts'
import type { Curation } from '../domain/curation.ts'
import { invalidField, Problem } from '../domain/problem.ts'
import { repositoryKey, type RepositoryKey, type RepositoryKind } from '../domain/repositories.ts'
import type { Clock } from '../kernel/clock.ts'
import type { SecretBox } from '../kernel/crypto.ts'
import { addPlace } from '../packages/records/places.ts'
import type { Db } from '../store/db.ts'
import { removeListings } from '../store/files/listing-files.ts'
import type { Paths } from '../store/paths.ts'
import type { RepositoriesTable } from '../store/tables.ts'
import { transaction } from '../store/transaction.ts'
import { setUpstream, type Upstream } from './upstream.ts'

export interface Repository extends Selectable<RepositoriesTable> {
  /** keys of the members of a group, in their order */
  members: string[]
}

export interface RepositoryChange {
  description?: string | undefined
  isPublic?: boolean | undefined
  /** of a group: names of repositories of its format, in the order in which a name is looked for */
  members?: readonly string[] | undefined
  /** of a proxy */
  upstream?: Upstream | undefined
  /** of a proxy: the rules to change */
  curation?: Partial<Curation> | undefined
}

export interface NewRepository extends RepositoryChange, RepositoryKey {
  kind: RepositoryKind
}

/** Who does it, and from where. */
export interface Actor {
  name: string
  origin: Origin
}

export interface Repositories {
  /** who may read private ones */
  readonly rights: PlaceRights
  list(): Promise<Repository[]>
  /** null when there is none */
  find(key: string): Promise<Repository | null>
  /** @throws Problem('not_found') */
  get(key: string): Promise<Repository>
  /** @throws Problem('already_exists' or 'validation_error') */
  create(wanted: NewRepository, by: Actor): Promise<Repository>
  /** @throws Problem('not_found' or 'validation_error') */
  change(key: string, change: RepositoryChange, by: Actor, check?: (before: Repository) => void): Promise<Repository>
  /** @throws Problem('not_found'), or 'not_empty' when it has packages or is a member of a group */
  remove(key: string, by: Actor): Promise<void>
  /** how many records are in each hosted repository, by key */
  counts(): Promise<Map<string, number>>
  /**
   * The repository that has a name, seen from another one: a group's first hosted member that knows it, published or held, so that a
   * name that is held there never comes from a later member. Null when none has it.
   */
  ownerOf(repository: Repository, name: string): Promise<string | null>
}

export interface RepositoryDeps {
  db: Db
  clock: Clock
  audit: AuditLog
  secretBox: SecretBox
  paths: Pick<Paths, 'listings'>
}

export function createRepositories(deps: RepositoryDeps): Repositories {
  const { db, clock, audit, secretBox, paths } = deps

  async function find(key: string, within: Db = db): Promise<Repository | null> {
    const row = await within
      .selectFrom('repositories')
      .selectAll()
      .select(
        sql<string[]>`array(select member from repository_members where repository = key order by position)`.as(
          'members',
        ),
      )
      .where('key', '=', key)
      .executeTakeFirst()
    return row ?? null
  }

  async function get(key: string, within: Db = db): Promise<Repository> {
    const found = await find(key, within)
    if (!found) throw new Problem('not_found', `there is no repository ${key}`)
    return found
  }

  const event = (
    action: string,
    key: string,
    { name, origin }: Actor,
    extra: Record<string, unknown> = {},
  ): AuditEvent => ({
    ...{ action, result: 'SUCCESS', user: name, distribution: key, ip: origin.ip, requestId: origin.requestId },
    ...(Object.keys(extra).length > 0 ? { extra } : {}),
  })

  return {
    rights: createPlaceRights(db),
    find,
    get,
    async list() {
      const [rows, members] = await Promise.all([
        db.selectFrom('repositories').selectAll().orderBy('key').execute(),
        db.selectFrom('repository_members').selectAll().orderBy('repository').orderBy('position').execute(),
      ])
      return rows.map((row) => ({
        ...row,
        members: members.filter(({ repository }) => repository === row.key).map(({ member }) => member),
      }))
    },
    async create(wanted, by) {
      const { format, name, kind, description = '', isPublic = false, members = [] } = wanted
      const key = repositoryKey(wanted)
      return transaction(db, async (tx) => {
        const now = clock.now()
        const made = await tx
          .insertInto('repositories')
          .values({ key, format, name, kind, description, is_public: isPublic, created_at: now, created_by: by.name })
          .onConflict((c) => c.doNothing())
          .returning('key')
          .executeTakeFirst()
        if (!made) throw new Problem('already_exists', `there is a repository ${key} already`)
        if (kind !== 'group') await addPlace(tx, wanted, !isPublic)
        await setUpstream(tx, secretBox, await get(key, tx), wanted)
        await setMembers(tx, { key, format, kind }, members)
        // One of the same key may have been removed by a process that died before it removed these.
        await removeListings(paths.listings, key)
        await audit.record(event('REPOSITORY_CREATED', key, by, { kind, public: isPublic, members }), tx)
        return get(key, tx)
      })
    },
    async change(key, wanted, by, check) {
      const { description, isPublic, members } = wanted
      return transaction(db, async (tx) => {
        // Two administrators at once: the second sees what the first changed.
        await tx.selectFrom('repositories').select('key').where('key', '=', key).forNoKeyUpdate().execute()
        const before = await get(key, tx)
        check?.(before)
        await tx
          .updateTable('repositories')
          .set({ description: description ?? before.description, is_public: isPublic ?? before.is_public })
          .where('key', '=', key)
          .execute()
        if (isPublic !== undefined)
          await tx.updateTable('distributions').set({ private: !isPublic }).where('codename', '=', key).execute()
        await setUpstream(tx, secretBox, before, wanted)
        if (members) {
          await tx.deleteFrom('repository_members').where('repository', '=', key).execute()
          await setMembers(tx, before, members)
        }
        const after = await get(key, tx)
        const shown = ({
          description,
          is_public: isPublic,
          members,
          upstream_url: upstream,
          curation,
        }: Repository) => ({
          ...{ description, public: isPublic, members },
          ...(upstream === null ? {} : { upstream, curation }),
        })
        await audit.record(event('REPOSITORY_CHANGED', key, by, { before: shown(before), after: shown(after) }), tx)
        return after
      })
    },
    async remove(key, by) {
      await transaction(db, async (tx) => {
        await get(key, tx)
        // A publish that is under way ends first, and its record is seen; then whoever makes it a member of a group.
        await tx.selectFrom('distributions').select('codename').where('codename', '=', key).forUpdate().execute()
        await tx.selectFrom('repositories').select('key').where('key', '=', key).forUpdate().execute()
        const record = await tx.selectFrom('packages').select('id').where('distribution', '=', key).executeTakeFirst()
        if (record) throw new Problem('not_empty', `${key} has packages; delete them first`)
        const group = await tx
          .selectFrom('repository_members')
          .select('repository')
          .where('member', '=', key)
          .executeTakeFirst()
        if (group) throw new Problem('not_empty', `${key} is a member of ${group.repository}; take it out first`)
        // Before the repository: each raises the name that it is of. The offers are those of deleted records.
        await tx.deleteFrom('offers').where('distribution', '=', key).execute()
        for (const table of ['tags', 'version_notes'] as const)
          await tx.deleteFrom(table).where('repository', '=', key).execute()
        await tx.deleteFrom('repositories').where('key', '=', key).execute()
        await tx.deleteFrom('distributions').where('codename', '=', key).execute()
        await audit.record(event('REPOSITORY_DELETED', key, by), tx)
      })
      await removeListings(paths.listings, key)
    },
    async counts() {
      const { rows } = await sql<{ key: string; records: number }>`select codename as key,
          (published_count + pending_count + quarantined_count + rejected_count)::int as records
        from distributions where codename like '%/%'`.execute(db)
      return new Map(rows.map(({ key, records }) => [key, records]))
    },
    async ownerOf({ key, kind }, name) {
      if (kind !== 'group') return key
      const row = await db
        .selectFrom('repository_members as m')
        .innerJoin('repositories as r', 'r.key', 'm.member')
        .select('m.member')
        .where('m.repository', '=', key)
        .where('r.kind', '=', 'hosted')
        .where((eb) =>
          eb.exists(
            eb
              .selectFrom('packages as p')
              .select('p.id')
              .whereRef('p.distribution', '=', 'm.member')
              .where('p.name', '=', name),
          ),
        )
        .orderBy('m.position')
        .executeTakeFirst()
      return row?.member ?? null
    },
  }
}

async function setMembers(
  tx: Db,
  { key, format, kind }: Pick<Repository, 'key' | 'format' | 'kind'>,
  names: readonly string[],
): Promise<void> {
  if (kind !== 'group') {
    if (names.length > 0) throw invalidField('members', 'only a group has members')
    return
  }
  const members = names.map((name) => repositoryKey({ format, name }))
  if (new Set(members).size < members.length) throw invalidField('members', 'names a repository twice')
  if (members.length === 0) return
  const known = await tx
    .selectFrom('repositories')
    .select(['key', 'kind'])
    .where('key', 'in', members)
    .forKeyShare()
    .execute()
  for (const member of members) {
    const found = known.find((one) => one.key === member)
    if (!found) throw invalidField('members', `there is no repository ${member}`)
    if (found.kind === 'group') throw invalidField('members', `${member} is a group itself`)
  }
  await tx
    .insertInto('repository_members')
    .values(members.map((member, position) => ({ repository: key, position, member })))
    .execute()
}
