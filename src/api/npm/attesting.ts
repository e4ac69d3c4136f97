// What `npm audit signatures` asks: the keys of registries, and the attestations of versions.
import { Problem } from '../../domain/problem.ts'
import { attestationsForm } from '../../formats/npm/attestations.ts'
import type { ListedKey, RegistryKeys } from '../../proxies/registry-keys.ts'
import { handle, type Call, type Route } from '../http/route.ts'
import { readable, readableAmong } from '../registries/access.ts'
import { sendDocument } from '../registries/answers.ts'
import { getAttestations, getAttestationsTwice, getKeys } from './npm.contract.ts'
import { requireName } from './protocol.ts'
import { findName, held, type ReadingDeps } from './reading.ts'

export interface AttestingDeps extends Pick<ReadingDeps, 'repositories' | 'reader'> {
  registryKeys: RegistryKeys
}

export function attestingRoutes(deps: AttestingDeps): Route[] {
  const { repositories, reader, registryKeys } = deps

  async function keysOf(key: string): Promise<ListedKey[]> {
    const repository = await repositories.get(key)
    return repository.kind === 'proxy' ? ((await registryKeys.of(repository)) ?? []) : []
  }

  async function sendAttestations(call: Call<{ repo: string; package: string }, unknown, unknown>) {
    const { params } = call
    const at = params.package.lastIndexOf('@')
    const [name, version] = [requireName(params.package.slice(0, Math.max(at, 0))), params.package.slice(at + 1)]
    const { owner, listing } = await findName(deps, params.repo, name, call)
    const file = Object.values(listing.files).find((one) => one.version === version)
    if (file?.held) throw held(name, version, file.held)
    const document = await reader.document(owner, name, attestationsForm(version), '')
    if (!document) throw new Problem('not_found', `there are no attestations of ${name} ${version}`)
    return sendDocument(call, document)
  }

  return [
    handle(getKeys, async (call) => {
      const repository = await readable(repositories, { format: 'npm', name: call.params.repo }, call)
      const all = await Promise.all((await readableAmong(repositories, repository, call)).map(keysOf))
      const keys = [...new Map(all.flat().map((key) => [key.keyid, key])).values()]
      // Clients then ask for no signatures. With a list, they complain about each package that has none.
      if (keys.length === 0) throw new Problem('not_found', `nothing in ${repository.key} is signed by a registry`)
      return { keys }
    }),
    handle(getAttestations, sendAttestations),
    handle(getAttestationsTwice, sendAttestations),
  ]
}
