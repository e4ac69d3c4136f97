// /registries: repositories of libraries, made and changed at run time.
import type { FastifyRequest } from 'fastify'
import { readRepositoryKey, repositoryKey } from '../../domain/repositories.ts'
import { registryFormats } from '../../formats/index.ts'
import { isoTime } from '../../kernel/clock.ts'
import type { Actor, Repositories, Repository } from '../../registries/repositories.ts'
import { handle, type Route, type SignedCall } from '../http/route.ts'
import {
  deleteRegistriesFormatName,
  getRegistries,
  getRegistriesFormatName,
  patchRegistriesFormatName,
  postRegistries,
} from './registries.contract.ts'

export interface RegistryRoutesDeps {
  repositories: Repositories
  /** the address under which a client reached the API, with no slash at its end */
  reachedAt(request: FastifyRequest): string
}

export function registryRoutes({ repositories, reachedAt }: RegistryRoutesDeps): Route[] {
  async function shownTo(request: FastifyRequest) {
    const counts = await repositories.counts()
    return ({
      is_public: isPublic,
      created_at: at,
      upstream_url: url,
      upstream_authorization: sealed,
      ...row
    }: Repository) => ({
      ...row,
      upstream: url === null ? null : { url, has_credential: sealed !== null },
      public: isPublic,
      members: row.members.map(nameOf),
      url: `${reachedAt(request)}/${row.key}/`,
      packages: [row.key, ...row.members].reduce((sum, key) => sum + (counts.get(key) ?? 0), 0),
      created_at: isoTime(at),
    })
  }

  return [
    handle(getRegistries, async ({ raw }) => {
      const shown = await shownTo(raw)
      const all = await repositories.list()
      return { repositories: all.map(shown), total: all.length }
    }),
    handle(postRegistries, async (call) => {
      const { public: isPublic, ...wanted } = call.body
      const made = await repositories.create({ ...wanted, isPublic }, actorOf(call))
      return (await shownTo(call.raw))(made)
    }),
    handle(getRegistriesFormatName, async ({ params, raw }) => {
      const found = (await shownTo(raw))(await repositories.get(repositoryKey(params)))
      const format = registryFormats.find(({ id }) => id === params.format)
      return { ...found, setup: format?.setup(found.url, found.public) ?? [] }
    }),
    handle(patchRegistriesFormatName, async (call) => {
      const { public: isPublic, ...change } = call.body
      const shown = await shownTo(call.raw)
      const by = actorOf(call)
      const check = (before: Repository) => call.unchanged(shown(before))
      return shown(await repositories.change(repositoryKey(call.params), { ...change, isPublic }, by, check))
    }),
    handle(deleteRegistriesFormatName, async (call) => {
      const key = repositoryKey(call.params)
      await repositories.remove(key, actorOf(call))
      return { status: 'deleted' as const, key }
    }),
  ]
}

const nameOf = (key: string): string => readRepositoryKey(key)?.name ?? key

export const actorOf = ({
  caller,
  origin,
}: Pick<SignedCall<unknown, unknown, unknown>, 'caller' | 'origin'>): Actor => ({
  name: caller.name,
  origin,
})
