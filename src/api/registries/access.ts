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
 * @throws Problem('unauthorized' or 'not_found'), 'forbidden' or 'mfa_required' when a credential is not good for a private one
 */
export async function readable(finding: Finding, key: RepositoryKey, caller: Caller | null): Promise<Repository> {
  const found = await existing(finding, key, caller)
  if (!found.is_public && caller) requireReading(caller)
  return found
}

async function existing({ find }: Finding, key: RepositoryKey, caller: Caller | null): Promise<Repository> {
  const found = await find(repositoryKey(key))
  if (!found?.is_public && !caller) throw new Problem('unauthorized', 'a credential is needed')
  if (!found) throw new Problem('not_found', `there is no repository ${repositoryKey(key)}`)
  return found
}

/**
 * The repository that has a name, seen from one that the caller may read. Without a credential, names of private members of a public
 * group are not given, and answer like names that nobody has.
 * @throws Problem('unauthorized' or 'not_found')
 */
export async function requireOwner(
  { find, ownerOf }: Pick<Repositories, 'find' | 'ownerOf'>,
  repository: Repository,
  name: string,
  caller: Caller | null,
): Promise<string> {
  const owner = await ownerOf(repository, name)
  if (!caller) {
    const read = owner === null ? repository.members : [owner]
    const found = await Promise.all(read.map((key) => find(key)))
    if (found.some((one) => !one?.is_public)) throw new Problem('unauthorized', 'a credential is needed')
  }
  if (owner === null) throw new Problem('not_found', `${repository.key} has no ${name}`)
  return owner
}

/** What `mount` checks on routes that are not public. */
function requireReading({ mustEnrol, scopes }: Caller): void {
  if (mustEnrol) throw new Problem('mfa_required', 'set up a second factor first: your role needs one here')
  if (scopes) requireAction(scopes, 'read')
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
  const found = await existing(finding, key, caller)
  if (found.kind !== 'hosted') throw new Problem('not_hosted', `${found.key} is a group: publish to one of its members`)
  return { ...found, caller }
}
