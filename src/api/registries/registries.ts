// /registries: repositories of libraries, made and changed at run time.
import type { FastifyRequest } from 'fastify'
import { readRepositoryKey, repositoryKey } from '../../domain/repositories.ts'
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
  const shown = ({ is_public: isPublic, created_at: at, ...row }: Repository, request: FastifyRequest) => ({
    ...row,
    public: isPublic,
    members: row.members.map(nameOf),
    url: `${reachedAt(request)}/${row.key}/`,
    created_at: isoTime(at),
  })

  return [
    handle(getRegistries, async ({ raw }) => {
      const all = await repositories.list()
      return { repositories: all.map((one) => shown(one, raw)), total: all.length }
    }),
    handle(postRegistries, async (call) => {
      const { public: isPublic, ...wanted } = call.body
      return shown(await repositories.create({ ...wanted, isPublic }, actorOf(call)), call.raw)
    }),
    handle(getRegistriesFormatName, async ({ params, raw }) =>
      shown(await repositories.get(repositoryKey(params)), raw),
    ),
    handle(patchRegistriesFormatName, async (call) => {
      const { public: isPublic, ...change } = call.body
      return shown(
        await repositories.change(repositoryKey(call.params), { ...change, isPublic }, actorOf(call)),
        call.raw,
      )
    }),
    handle(deleteRegistriesFormatName, async (call) => {
      const key = repositoryKey(call.params)
      await repositories.remove(key, actorOf(call))
      return { status: 'deleted' as const, key }
    }),
  ]
}

const nameOf = (key: string): string => readRepositoryKey(key)?.name ?? key

const actorOf = ({ caller, origin }: Pick<SignedCall<unknown, unknown, unknown>, 'caller' | 'origin'>): Actor => ({
  name: caller.name,
  origin,
})
