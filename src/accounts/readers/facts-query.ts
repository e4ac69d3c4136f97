// Who may read which private place now: the facts for listeners, made of the rows.
import { sql } from 'kysely'
import { publisherOf } from '../../domain/publishers.ts'
import type { Scopes } from '../../domain/scopes.ts'
import type { Settings } from '../../domain/settings.ts'
import type { Facts } from '../../serve/access/facts.ts'
import { append } from '../../kernel/append.ts'
import { createKeyed } from '../../kernel/keyed.ts'
import { createPacer } from '../../kernel/pacer.ts'
import type { Db } from '../../store/db.ts'
import type { ReaderKind } from '../../store/tables.ts'
import { keyOfGroup, keysOfValue } from '../ldap/names.ts'
import { endOfStanding, STANDING_COLUMNS, type DirectoryStanding } from '../standing.ts'

/** Credentials between two looks at the clock. */
const PACE = 256

export interface AccessFacts {
  facts: Facts
  /** the number of the change that they include */
  revision: number
}

/** The settings that rights depend on. */
export type AccessSettings = Pick<Settings, 'ldap' | 'oidc' | 'trusted_publishing'>

export async function accessRevision(db: Db): Promise<number> {
  return (await db.selectFrom('access_revision').select('revision').executeTakeFirstOrThrow()).revision
}

/** Reads the number first: a change that commits meanwhile raises it again. */
export async function accessFacts(db: Db, settings: AccessSettings, now: Date): Promise<AccessFacts> {
  const revision = await accessRevision(db)
  const places = await privatePlaces(db)
  const rules = createRules(places.length === 0 ? [] : await rulesOf(db))
  const made = createRights(places)
  const credentials: Facts['credentials'] = []
  const certificates: Facts['certificates'] = []
  const pace = createPacer()
  /** Thousands of machines have the same tags. */
  const numberOfTags = createKeyed((tags: string) => made.numberOf(rules.ofTags(tags.split(' '))))
  for (const machine of await machinesWithRead(db)) {
    const own = rules.ofMachine(machine.id)
    const number = own ? made.numberOf([...own, ...rules.ofTags(machine.tags)]) : numberOfTags(machine.tags.join(' '))
    if (machine.certificate !== null) certificates.push([machine.certificate, credentials.length])
    credentials.push([machine.token_hash, number, `machine:${machine.name}`, 0])
    if (credentials.length % PACE === 0) await pace()
  }
  for (const token of rules.namePeople ? await tokensOfPeople(db, now) : []) {
    const readable = rules.ofPerson(token).filter((place) => made.isInScope(token.scopes, place))
    const ends = Math.min(endOfStanding(token, settings) ?? Infinity, token.expires_at?.getTime() ?? Infinity)
    if (readable.length === 0 || ends <= now.getTime()) continue
    credentials.push([token.token_hash, made.numberOf(readable), nameOf(token), ends === Infinity ? 0 : ends])
    if (credentials.length % PACE === 0) await pace()
  }
  for (const token of places.length === 0 ? [] : await tokensOfJobs(db, now)) {
    // Whoever wrote the publisher's scopes gave it this right, so it needs no other.
    const named = publisherOf(settings.trusted_publishing.publishers, token) ? token.scopes.distributions : []
    const readable = named.filter((place) => made.isInScope(token.scopes, place))
    if (readable.length === 0) continue
    credentials.push([token.token_hash, made.numberOf(readable), nameOf(token), token.expires_at.getTime()])
    if (credentials.length % PACE === 0) await pace()
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

/** As access logs have it. */
const nameOf = (token: { name: string }) => `token:${token.name.replace(/[^\w.@:#-]/g, '_')}`

interface Place {
  key: string
  format: string
}

/** The places that rules give, found without looking at every rule for each of thousands of machines. */
function createRules(rules: readonly Rule[]) {
  const placesBy = (kind: ReaderKind, keyOf: (rule: Rule) => string | number | null) => {
    const places = new Map<string | number | null, string[]>()
    for (const rule of rules) if (rule.kind === kind) append(places, keyOf(rule), rule.place)
    return places
  }
  const byTag = placesBy('tag', ({ name }) => name)
  const byMachine = placesBy('machine', ({ machine_id: id }) => id)
  const byPerson = placesBy('person', ({ user_id: id }) => id)
  const byGroup = placesBy('group', ({ name }) => keyOfGroup(name))
  /** Many people are in the same groups, and names of groups are parsed. */
  const ofGroup = createKeyed((group: string) => keysOfValue(group).flatMap((key) => byGroup.get(key) ?? []))
  return {
    namePeople: byPerson.size + byGroup.size > 0,
    ofMachine: (id: number): string[] | undefined => byMachine.get(id),
    ofTags: (tags: readonly string[]): string[] => tags.flatMap((tag) => byTag.get(tag) ?? []),
    ofPerson: (token: { owner_id: number; groups: readonly string[] }): string[] => [
      ...(byPerson.get(token.owner_id) ?? []),
      ...token.groups.flatMap(ofGroup),
    ],
  }
}

/** Equal sets of places get one number: thousands of machines have the same rights. */
function createRights(places: readonly Place[]) {
  const numbers = new Map(places.map(({ key }, at) => [key, at]))
  const sets: number[][] = []
  const known = new Map<string, number>()
  return {
    sets,
    numberOf(readable: readonly string[]): number {
      const set = [...new Set(readable.flatMap((place) => numbers.get(place) ?? []))].sort((a, b) => a - b)
      const text = set.join(',')
      let number = known.get(text)
      if (number === undefined) {
        known.set(text, (number = sets.length))
        sets.push(set)
      }
      return number
    },
    /** A token that is limited to some distributions or formats reads no other. False also for a place that is public now. */
    isInScope(scopes: Scopes | null, place: string): boolean {
      const known = places[numbers.get(place) ?? -1]
      const has = (list: readonly string[] | undefined, value: string) => !list || list.includes(value)
      if (!known || !scopes) return known !== undefined
      return has(scopes.actions, 'read') && has(scopes.distributions, place) && has(scopes.formats, known.format)
    },
  }
}

export const privatePlaces = (db: Db): Promise<Place[]> =>
  db
    .selectFrom('distributions')
    .select(['codename as key', 'format'])
    .where('private', '=', true)
    .orderBy('codename')
    .execute()

interface Rule {
  place: string
  kind: ReaderKind
  name: string
  user_id: number | null
  machine_id: number | null
}

const rulesOf = (db: Db): Promise<Rule[]> =>
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

/** Live tokens of CI jobs whose scopes name places. */
async function tokensOfJobs(db: Db, now: Date) {
  const { rows } = await sql<{
    name: string
    token_hash: string
    scopes: Scopes & Required<Pick<Scopes, 'distributions'>>
    expires_at: Date
    publisher: string
  }>`select name, token_hash, scopes, expires_at, publisher from api_tokens
    where publisher is not null and scopes ? 'distributions' and revoked_at is null and expires_at > ${now}
    order by id`.execute(db)
  return rows
}

/** Live tokens of active people who are named by a rule, or are in a group. */
async function tokensOfPeople(db: Db, now: Date): Promise<TokenOfPerson[]> {
  const { rows } = await sql<TokenOfPerson>`
    select t.name, t.token_hash, t.scopes, t.expires_at, users.id as owner_id, ${sql.join(STANDING_COLUMNS.map((column) => sql.ref(column)))},
      array(select g.name from user_groups g where g.user_id = users.id order by 1) as groups
    from api_tokens t join users on users.id = t.created_by_id and users.active
    where t.revoked_at is null and (t.expires_at is null or t.expires_at > ${now})
      and (exists (select from readers r where r.user_id = users.id) or exists (select from user_groups g where g.user_id = users.id))
    order by t.id`.execute(db)
  return rows
}
