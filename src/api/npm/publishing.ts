// npm publish, deprecate, unpublish and dist-tag.
import semver from 'semver'
import type { Caller } from '../../domain/caller.ts'
import { invalidField, isProblem, Problem } from '../../domain/problem.ts'
import type { VersionNote } from '../../domain/repositories.ts'
import { isNewName } from '../../formats/npm/names.ts'
import type { Intake } from '../../intake/intake.ts'
import type { Provenance } from '../../gate/provenance/provenance.ts'
import type { IntakeResult, Source } from '../../packages/arrival.ts'
import type { DeletePackages } from '../../packages/delete-packages.ts'
import type { Publisher } from '../../publish/publisher.ts'
import type { NameIn, Names } from '../../registries/names.ts'
import type { ReleaseNotes } from '../../registries/release-notes.ts'
import type { Actor, Repositories } from '../../registries/repositories.ts'
import { parseJson } from '../http/bodies.ts'
import { handle, type Call, type Route } from '../http/route.ts'
import { writable } from '../registries/access.ts'
import { attestedUpload } from '../registries/attested-upload.ts'
import { deletePackage, deleteTag, deleteTarball, putPackage, putRevision, putTag } from './npm.contract.ts'
import { requireName } from './protocol.ts'
import { readPublication, type Publication, type Said } from './publication.ts'
import { bundlesDocument, requireAsSaid } from './said.ts'
import { findName, type ReadingDeps } from './reading.ts'

export interface PublishingDeps extends Pick<ReadingDeps, 'repositories' | 'reader'> {
  names: Names
  releaseNotes: Pick<ReleaseNotes, 'attest'>
  provenance: Provenance
  intake: Pick<Intake, 'accept'>
  publisher: Pick<Publisher, 'converge'>
  deletePackages: DeletePackages
}

interface Params {
  repo: string
  package: string
}

type WriteCall<P extends Params = Params> = Pick<
  Call<P, unknown, unknown>,
  'params' | 'caller' | 'raw' | 'origin' | 'admitAgain' | 'bodyStream' | 'reply'
>

/** A name in a hosted repository, and who may change it. */
interface Place {
  of: NameIn
  caller: Caller
  by: Actor
}

const LONGEST_TAG = 100
const LONGEST_MESSAGE = 1000

export function publishingRoutes(deps: PublishingDeps): Route[] {
  const { names, publisher, deletePackages } = deps

  async function removed(call: WriteCall, version: string | null) {
    const place = await placeOf(deps.repositories, call, 'delete')
    const { of, caller, by } = place
    const { repository: distribution, name } = of
    await deletePackages({ distribution, name, ...(version === null ? {} : { version }) }, caller, call.origin)
    await names.removeLostTags(of, by)
    await publisher.converge(distribution, [name])
    return { ok: true as const }
  }

  return [
    handle(putPackage, async (call) => {
      const place = await placeOf(deps.repositories, call)
      const publication = await readPublication(call.bodyStream())
      if (publication.tarball) return publish(deps, call, place, publication)
      call.reply.code(200)
      return deprecate(deps, place, publication.said)
    }),
    handle(putRevision, async (call) => {
      const place = await placeOf(deps.repositories, call)
      const { said, tarball } = await readPublication(call.bodyStream())
      if (tarball) throw invalidField('_attachments', 'has a file, which is published without a revision')
      return deprecate(deps, place, said)
    }),
    handle(deletePackage, (call) => removed(call, null)),
    handle(deleteTarball, async (call) => {
      const { repo, package: name, file } = call.params
      const { listing } = await findName(deps, repo, requireName(name), call)
      const version = Object.hasOwn(listing.files, file) ? listing.files[file]?.version : undefined
      if (version === undefined) throw new Problem('not_found', `there is no file ${file} of ${name}`)
      return removed(call, version)
    }),
    handle(putTag, async (call) => {
      const place = await placeOf(deps.repositories, call)
      const version = await textIn(call)
      await names.setTag(place.of, requireTag(call.params.tag), version, place.by)
      await publisher.converge(place.of.repository, [place.of.name])
      return { ok: true as const }
    }),
    handle(deleteTag, async (call) => {
      const place = await placeOf(deps.repositories, call)
      await names.removeTag(place.of, call.params.tag, place.by)
      await publisher.converge(place.of.repository, [place.of.name])
      return { ok: true as const }
    }),
  ]
}

async function placeOf(
  repositories: Repositories,
  { params, caller, origin }: WriteCall,
  action: 'upload' | 'delete' = 'upload',
): Promise<Place> {
  const name = requireName(params.package)
  const found = await writable(repositories, { format: 'npm', name: params.repo }, name, caller, action)
  return { of: { repository: found.key, name }, caller: found.caller, by: { name: found.caller.name, origin } }
}

/** Tags that are versions or ranges would be read as such. @throws Problem('validation_error') */
function requireTag(tag: string): string {
  if (tag.length > LONGEST_TAG || !/^[\w.-]+$/.test(tag) || semver.validRange(tag) !== null)
    throw invalidField('tag', 'is no name for a tag')
  return tag
}

async function textIn({ bodyStream }: Pick<WriteCall, 'bodyStream'>): Promise<string> {
  const pieces: Uint8Array[] = []
  for await (const piece of bodyStream()) pieces.push(piece)
  const value = parseJson(Buffer.concat(pieces))
  if (typeof value !== 'string') throw invalidField('body', 'is not a version as a JSON text')
  return value
}

/** The tarball is judged before its tags are set: what the gate refuses is not tagged. */
async function publish(deps: PublishingDeps, call: WriteCall, place: Place, { said, tarball }: Publication) {
  const { names, publisher } = deps
  const attested = attestedUpload(deps.provenance, () => bundlesDocument(said.bundles))
  const source = {
    ...sourceOf(deps, call, place, said, tarball as AsyncIterable<Uint8Array>),
    get steps() {
      return attested.steps()
    },
  }
  const meta = { method: 'upload' as const, importedBy: place.caller.name, origin: call.origin }
  const result = await deps.intake.accept(source, meta).catch(existing(place.of.name))
  const isRefused = result.status === 'quarantined' || result.status === 'rejected'
  for (const [tag, version] of isRefused ? [] : said.tags)
    if (version === result.version) await names.setTag(place.of, tag, version, place.by)
  const kept = attested.kept()
  const release = { ...place.of, version: result.version }
  if (kept.length > 0) await deps.releaseNotes.attest(release, result.filename, kept, place.by)
  await publisher.converge(place.of.repository, [place.of.name])
  if (isRefused) throw new Problem('policy_hold', `${place.of.name}@${result.version} was refused: ${result.message}`)
  if (result.status === 'pending_review') call.reply.header('npm-notice', noticeOf(result))
  return { ok: true as const }
}

/** npm prints it after the upload. */
const noticeOf = ({ package: name, version, message }: IntakeResult) =>
  `${name}@${version} is held: ${message}`.replace(/[^\x20-\x7e]/g, '?').slice(0, 500)

function sourceOf(
  { names }: Pick<PublishingDeps, 'names'>,
  { admitAgain }: WriteCall,
  place: Place,
  said: Said,
  tarball: AsyncIterable<Uint8Array>,
): Source {
  return {
    async deliver(to) {
      if (!isNewName(place.of.name))
        throw new Problem('invalid_package', `no new package can be called ${place.of.name}`)
      to.target(place.of.repository)
      await to.store(tarball)
      for (const tag of said.tags.keys()) requireTag(tag)
      const { scopes } = await admitAgain()
      return {
        declaredSha256: null,
        scopes: scopes ?? null,
        async compare(file) {
          requireAsSaid(place.of.name, said, file)
          const { version, arch } = file.facts
          await names.requireUnspent(place.of, { version, arch, sha256: file.digests.sha256 })
        },
      }
    },
  }
}

/** npm expects 403 for a version that is there, whatever its bytes are. */
function existing(name: string): (error: unknown) => never {
  return (error) => {
    if (!isProblem(error, 'already_exists') && !isProblem(error, 'duplicate_conflict')) throw error
    const { version } = error.extra as { version?: string }
    throw new Problem('version_exists', `you cannot publish over the version ${version ?? ''} of ${name} that is there`)
  }
}

/** Sets the messages that differ. Other changes of a packument mean nothing: tags and files have requests of their own. */
async function deprecate({ names, publisher }: PublishingDeps, place: Place, said: Said) {
  const now = await names.notesOf(place.of)
  const changes: Record<string, VersionNote> = {}
  for (const [version, { deprecated }] of said.versions) {
    const before = now[version]?.deprecated ?? ''
    if (deprecated === undefined || deprecated === before) continue
    const message = deprecated.slice(0, LONGEST_MESSAGE)
    changes[version] = message === '' ? {} : { deprecated: message }
  }
  if (Object.keys(changes).length > 0) {
    await names.note(place.of, changes, place.by)
    await publisher.converge(place.of.repository, [place.of.name])
  }
  return { ok: true as const }
}
