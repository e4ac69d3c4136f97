// Which repository a client of an ecosystem may read or publish to.
import type { Caller } from '../../domain/caller.ts'
import { Problem } from '../../domain/problem.ts'
import { mayAccess } from '../../domain/roles.ts'
import { requireAction, requireInside } from '../../domain/scopes.ts'
import { repositoryKey, type RepositoryKey } from '../../domain/repositories.ts'
import type { Repositories, Repository } from '../../registries/repositories.ts'

type Finding = Pick<Repositories, 'find' | 'rights'>

/** Who asks: a person or a token, or else perhaps a machine, whose token is none of the API. */
export interface Asking {
  caller: Caller | null
  raw: { headers: { authorization?: string | undefined } }
}

/**
 * The repository, if who asks may read it. Unknown ones and those that are not for everybody answer alike.
 * @throws Problem('unauthorized' or 'not_found'), 'forbidden' or 'mfa_required' when a credential is not good for a private one
 */
export async function readable(finding: Finding, key: RepositoryKey, asking: Asking): Promise<Repository> {
  const found = await finding.find(repositoryKey(key))
  if (found && (await mayRead(finding, found, asking))) return found
  throw notReadable(asking, `there is no repository ${repositoryKey(key)}`)
}

/**
 * Private ones: machines with a right to it, or to a member. People with an account, and once the repository has readers of its own,
 * only these, maintainers, and tokens that were made for it.
 */
async function mayRead({ rights }: Finding, repository: Repository, { caller, raw }: Asking): Promise<boolean> {
  const { key, members, kind, is_public: isPublic } = repository
  if (isPublic) return true
  if (!caller) return rights.ofMachine(raw.headers.authorization, [key, ...members])
  requireReading(caller)
  if (kind === 'group' || mayAccess(caller.role, 'maintainer+') || !(await rights.isRestricted(key))) return true
  return isMadeFor(caller, key) || rights.ofPerson(caller.ownerId, key)
}

/**
 * A token whose scopes name the repository: of a CI job, because administrators wrote these scopes, or of a person who may read all
 * repositories, although the token has a lesser role.
 */
function isMadeFor({ scopes, kind, ownerId, role, ownerRole = role }: Caller, key: string): boolean {
  if (kind !== 'token' || !scopes?.distributions?.includes(key)) return false
  return ownerId === 0 || mayAccess(ownerRole, 'maintainer+')
}

const notReadable = ({ caller }: Asking, why: string) =>
  caller ? new Problem('not_found', why) : new Problem('unauthorized', 'a credential is needed')

/** The repositories behind one that may be read: itself, or those members of a group that may be read too. */
export async function readableAmong(finding: Finding, repository: Repository, asking: Asking): Promise<string[]> {
  if (repository.kind !== 'group') return [repository.key]
  const members = await Promise.all(
    repository.members.map(async (key) => {
      const member = await finding.find(key)
      return member && (await mayRead(finding, member, asking)) ? [key] : []
    }),
  )
  return members.flat()
}

/**
 * The repository that has a name, seen from one that may be read. A member that may not be read hides its names: they answer like
 * names that nobody has, and do not come from a later member.
 * @throws Problem('unauthorized' or 'not_found')
 */
export async function requireOwner(
  repositories: Pick<Repositories, 'find' | 'rights' | 'ownerOf'>,
  repository: Repository,
  name: string,
  asking: Asking,
): Promise<string> {
  const owner = await repositories.ownerOf(repository, name)
  if (owner === repository.key) return owner
  const readers = await readableAmong(repositories, repository, asking)
  if (owner !== null && readers.includes(owner)) return owner
  const isAllRead = readers.length === repository.members.length
  if (isAllRead || asking.caller) throw new Problem('not_found', `${repository.key} has no ${name}`)
  throw notReadable(asking, '')
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
  finding: Pick<Repositories, 'find'>,
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
  const found = await finding.find(repositoryKey(key))
  if (!found) throw new Problem('not_found', `there is no repository ${repositoryKey(key)}`)
  if (found.kind !== 'hosted')
    throw new Problem('not_hosted', `${found.key} is a ${found.kind}: publish to a hosted repository`)
  return { ...found, caller }
}
