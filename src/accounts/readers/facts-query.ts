// Who may read which private place now: the facts for listeners, made of the rows.
import { sql } from 'kysely'
import type { Scopes } from '../../domain/scopes.ts'
import type { Settings } from '../../domain/settings.ts'
import type { Facts } from '../../serve/access/facts.ts'
import type { Db } from '../../store/db.ts'
import type { ReaderKind } from '../../store/tables.ts'
import { isGroup } from '../ldap/names.ts'
import { endOfStanding, type DirectoryStanding } from '../standing.ts'

export interface AccessFacts {
  facts: Facts
  /** the number of the change that they include */
  revision: number
}

export async function accessRevision(db: Db): Promise<number> {
  return (await db.selectFrom('access_revision').select('revision').executeTakeFirstOrThrow()).revision
}

/** Reads the number first: a change that commits meanwhile raises it again. */
export async function accessFacts(db: Db, settings: Pick<Settings, 'ldap' | 'oidc'>, now: Date): Promise<AccessFacts> {
  const revision = await accessRevision(db)
  const places = await privatePlaces(db)
  const rules = places.length === 0 ? [] : await rulesOf(db)
  const made = createRights(places.map(({ key }) => key))
  const credentials: Facts['credentials'] = []
  const certificates: Facts['certificates'] = []
  for (const machine of await machinesWithRead(db)) {
    const rights = rules.filter(
      (rule) =>
        (rule.kind === 'machine' && rule.machine_id === machine.id) ||
        (rule.kind === 'tag' && machine.tags.includes(rule.name)),
    )
    if (machine.certificate !== null) certificates.push([machine.certificate, credentials.length])
    credentials.push([machine.token_hash, made.numberOf(rights), `machine:${machine.name}`, 0])
  }
  const tokens = rules.some(({ kind }) => kind === 'person' || kind === 'group') ? await tokensOfPeople(db, now) : []
  for (const token of tokens) {
    const end = endOfStanding(token, settings)
    const ends = Math.min(...[end, token.expires_at?.getTime() ?? null].filter((at) => at !== null), Infinity)
    const isInScope = (place: string) =>
      mayRead(
        token.scopes,
        places.find(({ key }) => key === place)!,
      )
    const rights = rules.filter(
      (rule) =>
        ((rule.kind === 'person' && rule.user_id === token.owner_id) ||
          (rule.kind === 'group' && token.groups.some((group) => isGroup(group, rule.name)))) &&
        isInScope(rule.place),
    )
    if (rights.length === 0 || ends <= now.getTime()) continue
    const name = `token:${token.name.replace(/[^\w.@:-]/g, '_')}`
    credentials.push([token.token_hash, made.numberOf(rights), name, ends === Infinity ? 0 : ends])
  }
  const facts: Facts = {
    version: 1,
    private: places.map(({ key }) => key),
    rights: made.sets,
    credentials,
    certificates,
  }
  return { facts, revision }
}

interface Place {
  key: string
  format: string
}

/** A token that is limited to some distributions reads no other. */
function mayRead(scopes: Scopes | null, { key, format }: Place): boolean {
  if (!scopes) return true
  const has = (list: readonly string[] | undefined, value: string) => !list || list.includes(value)
  return has(scopes.actions, 'read') && has(scopes.distributions, key) && has(scopes.formats, format)
}

/** Equal sets of places get one number: thousands of machines have the same rights. */
function createRights(keys: readonly string[]) {
  const sets: number[][] = []
  const known = new Map<string, number>()
  return {
    sets,
    numberOf(rules: readonly { place: string }[]): number {
      const set = [...new Set(rules.map(({ place }) => keys.indexOf(place)))]
        .filter((at) => at >= 0)
        .sort((a, b) => a - b)
      const text = set.join(',')
      let number = known.get(text)
      if (number === undefined) {
        known.set(text, (number = sets.length))
        sets.push(set)
      }
      return number
    },
  }
}

const privatePlaces = (db: Db): Promise<Place[]> =>
  db
    .selectFrom('distributions')
    .select(['codename as key', 'format'])
    .where('private', '=', true)
    .orderBy('codename')
    .execute()

const rulesOf = (
  db: Db,
): Promise<{ place: string; kind: ReaderKind; name: string; user_id: number | null; machine_id: number | null }[]> =>
  db.selectFrom('readers').select(['place', 'kind', 'name', 'user_id', 'machine_id']).orderBy('id').execute()

const machinesWithRead = (db: Db) =>
  db
    .selectFrom('machines')
    .select(['id', 'name', 'tags', 'token_hash', 'certificate'])
    .where('revoked_at', 'is', null)
    .where(sql<boolean>`'read' = any(rights)`)
    .orderBy('id')
    .execute()

interface TokenOfPerson extends DirectoryStanding {
  name: string
  token_hash: string
  scopes: Scopes | null
  expires_at: Date | null
  owner_id: number
  groups: string[]
}

/** Live tokens of active people who are named by a rule, or are in a group. */
async function tokensOfPeople(db: Db, now: Date): Promise<TokenOfPerson[]> {
  const { rows } = await sql<TokenOfPerson>`
    select t.name, t.token_hash, t.scopes, t.expires_at, u.id as owner_id, u.auth_source, u.directory_checked_at,
      u.directory_gone_at, u.last_login, u.created_at,
      array(select g.name from user_groups g where g.user_id = u.id order by 1) as groups
    from api_tokens t join users u on u.id = t.created_by_id and u.active
    where t.revoked_at is null and (t.expires_at is null or t.expires_at > ${now})
      and (exists (select from readers r where r.user_id = u.id) or exists (select from user_groups g where g.user_id = u.id))
    order by t.id`.execute(db)
  return rows
}
