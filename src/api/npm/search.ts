// npm search.
import { personOf } from '../../formats/npm/manifest.ts'
import { scopeOf } from '../../formats/npm/names.ts'
import { isoTime, type Clock } from '../../kernel/clock.ts'
import type { Repositories } from '../../registries/repositories.ts'
import type { Db } from '../../store/db.ts'
import { handle, type Route } from '../http/route.ts'
import { readable } from '../registries/access.ts'
import { getSearch } from './npm.contract.ts'
import { searchNames, type SearchHit } from './search-query.ts'

export interface SearchDeps {
  db: Db
  clock: Clock
  repositories: Pick<Repositories, 'find'>
}

export function searchRoutes({ db, clock, repositories }: SearchDeps): Route[] {
  return [
    handle(getSearch, async ({ params, query, caller }) => {
      const repository = await readable(repositories, { format: 'npm', name: params.repo }, caller)
      const places = repository.kind === 'group' ? repository.members : [repository.key]
      const found = await Promise.all(places.map((key) => repositories.find(key)))
      const visible = found.flatMap((one) => (one && (caller || one.is_public) ? [one.key] : []))
      const { hits, total } = await searchNames(db, { places, visible }, query)
      return { objects: hits.map(shown), total, time: isoTime(clock.now()) }
    }),
  ]
}

/** Nothing here ranks packages; clients expect the figures. */
const SCORE = { final: 1, detail: { quality: 1, popularity: 1, maintenance: 1 } }

function shown({ name, version, facts, imported_at: at }: SearchHit) {
  const { keywords, author, maintainers } = facts.record.manifest
  const people = (Array.isArray(maintainers) ? maintainers : [author]).flatMap((one) => {
    const person = personOf(one)
    return person ? [{ username: person.name, ...(person.email ? { email: person.email } : {}) }] : []
  })
  return {
    package: {
      ...{ name, version, scope: scopeOf(name)?.slice(1) ?? 'unscoped', date: isoTime(at) },
      description: facts.description ?? '',
      keywords: Array.isArray(keywords) ? keywords.filter((one) => typeof one === 'string') : [],
      links: facts.url === null ? {} : { homepage: facts.url },
      ...{ maintainers: people, publisher: people[0] ?? { username: '' } },
    },
    ...{ score: SCORE, searchScore: 1 },
  }
}
