// What people say about one version in a repository.
import { repositoryKey } from '../../domain/repositories.ts'
import type { Publisher } from '../../publish/publisher.ts'
import type { ReleaseNotes } from '../../registries/release-notes.ts'
import type { Repositories } from '../../registries/repositories.ts'
import { handle, type Route } from '../http/route.ts'
import { writable } from './access.ts'
import { patchRegistriesPypiNamePackagesPackageVersion } from './releases.contract.ts'

export interface ReleaseDeps {
  repositories: Repositories
  releaseNotes: ReleaseNotes
  publisher: Pick<Publisher, 'converge'>
}

export function releaseRoutes({ repositories, releaseNotes, publisher }: ReleaseDeps): Route[] {
  return [
    handle(patchRegistriesPypiNamePackagesPackageVersion, async ({ params, body, caller, origin }) => {
      const key = { format: 'pypi', name: params.name }
      await writable(repositories, key, params.package, caller, 'delete')
      const release = { repository: repositoryKey(key), name: params.package, version: params.version }
      await releaseNotes.yank(release, body.yanked, { name: caller.name, origin })
      await publisher.converge(release.repository)
      return { package: release.name, version: release.version, yanked: body.yanked }
    }),
  ]
}
