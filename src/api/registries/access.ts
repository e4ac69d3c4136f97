// Which repository a client of an ecosystem may read or publish to.
import type { Caller } from '../../domain/caller.ts'
import { Problem } from '../../domain/problem.ts'
import { mayAccess } from '../../domain/roles.ts'
import { requireAction, requireInside } from '../../domain/scopes.ts'
import { repositoryKey, type RepositoryKey } from '../../domain/repositories.ts'
import type { Repositories, Repository } from '../../registries/repositories.ts'

type Finding = Pick<Repositories, 'find'>

/**
 * The repository, if the caller may read it. Without a credential, unknown and private repositories answer alike.
 * @throws Problem('unauthorized' or 'not_found')
 */
export async function readable({ find }: Finding, key: RepositoryKey, caller: Caller | null): Promise<Repository> {
  const found = await find(repositoryKey(key))
  if (!found?.is_public && !caller) throw new Problem('unauthorized', 'a credential is needed')
  if (!found) throw new Problem('not_found', `there is no repository ${repositoryKey(key)}`)
  if (!found.is_public && caller?.scopes) requireAction(caller.scopes, 'read')
  return found
}

/**
 * The repository, if the caller may publish this name to it.
 * @param action what the scopes of a token must allow
 * @throws Problem('unauthorized', 'forbidden', 'not_found' or 'not_hosted')
 */
export async function writable(
  finding: Finding,
  key: RepositoryKey,
  name: string | undefined,
  caller: Caller | null,
  action: 'upload' | 'delete' = 'upload',
): Promise<Repository & { caller: Caller }> {
  if (!caller) throw new Problem('unauthorized', 'a credential is needed')
  const access = action === 'upload' ? 'uploader+' : 'maintainer+'
  if (!mayAccess(caller.role, access)) throw new Problem('forbidden', `the role ${caller.role} may not do this`)
  if (caller.scopes) {
    requireAction(caller.scopes, action)
    requireInside(caller.scopes, { distribution: repositoryKey(key), format: key.format, name })
  }
  const found = await readable(finding, key, { ...caller, scopes: null })
  if (found.kind !== 'hosted') throw new Problem('not_hosted', `${found.key} is a group: publish to one of its members`)
  return { ...found, caller }
}
