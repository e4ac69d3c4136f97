// /pypi: what pip, uv, poetry and twine ask of a repository.
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { Problem } from '../../domain/problem.ts'
import { projectList, provenanceForm } from '../../formats/pypi/documents.ts'
import { canonicalName } from '../../formats/pypi/names.ts'
import type { PypiRecord } from '../../formats/pypi/record.ts'
import type { FileIn, Proxies } from '../../proxies/proxies.ts'
import { shownNames } from '../../registries/projects.ts'
import type { Db } from '../../store/db.ts'
import { storedFacts } from '../../store/files/blob-query.ts'
import { isStored, type ReachableFile } from '../../store/files/listing-files.ts'
import { handle, type Call, type Route } from '../http/route.ts'
import { readable, readableAmong, requireOwner, writable } from '../registries/access.ts'
import { sendDocument, type SendFile } from '../registries/answers.ts'
import { FORMS, formFor, type Form } from './accept.ts'
import { publishFile, type PublishDeps } from './publish.ts'
import {
  getPypiRepoFilesProjectFile,
  getPypiRepoSimple,
  getPypiRepoSimpleProject,
  patchRegistriesPypiNamePackagesPackageVersion,
  postPypiRepoLegacy,
} from './pypi.contract.ts'

export interface PypiDeps extends PublishDeps, Pick<Proxies, 'reach' | 'listed' | 'described'> {
  db: Db
  sendFile: SendFile
}

const gzipped = promisify(gzip)

type Asked<P> = Pick<Call<P, unknown, unknown>, 'params' | 'caller' | 'raw' | 'reply'>

export function pypiRoutes(deps: PypiDeps): Route[] {
  return [
    handle(getPypiRepoSimple, async (call) => {
      const repository = await readable(deps.repositories, keyOf(call.params), call)
      if (!hasSlash(call)) return redirect(call, 'simple/')
      const form = formOf(call)
      const shown = await readableAmong(deps.repositories, repository, call)
      const plain = Buffer.from(projectList(await shownNames(deps.db, shown))[form.form])
      return sendDocument(call, { media: form.media, ...(await encoded(plain)) })
    }),
    handle(getPypiRepoSimpleProject, async (call) => {
      const { name, owner } = await ownerOf(deps, call)
      if (!hasSlash(call)) return redirect(call, `${name}/`)
      if (name !== call.params.project) return redirect(call, `../${name}/`)
      const form = formOf(call)
      const document = await deps.reader.document(owner, name, form.form, '')
      if (!document) throw new Problem('not_found', `there is no project ${name}`)
      return sendDocument(call, { ...document, media: form.media })
    }),
    handle(getPypiRepoFilesProjectFile, async (call) => {
      const { name, owner } = await ownerOf(deps, call)
      const [, filename = '', part] = /^(.*?)(\.metadata|\.provenance)?$/s.exec(call.params.file) ?? []
      const wanted = { owner, name, filename }
      const by = { name: call.caller?.name ?? 'anonymous', origin: call.origin }
      const file = await (part === undefined ? deps.reach(wanted, by) : deps.listed(wanted))
      if (file.held !== null) throw new Problem('policy_hold', `${filename} is held: ${file.held}`)
      if (part === '.metadata') return sendMetadata(deps, call, wanted, file)
      if (part === undefined && isStored(file))
        return deps.sendFile(call, { format: 'pypi', sha256: file.sha256, filename }, file)
      const provenance = await deps.reader.document(owner, name, provenanceForm(filename), '')
      if (!provenance) throw new Problem('not_found', `there are no attestations of ${filename}`)
      return sendDocument(call, provenance)
    }),
    handle(postPypiRepoLegacy, async (call) => {
      const { status, message } = await publishFile(deps, call)
      call.reply.type('text/plain; charset=utf-8').header('x-package-status', status)
      return `${message}\n`
    }),
    handle(patchRegistriesPypiNamePackagesPackageVersion, async ({ params, body, caller, origin }) => {
      const key = { format: 'pypi', name: params.name }
      const { key: repository } = await writable(deps.repositories, key, params.package, caller, 'delete')
      const release = { repository, name: params.package, version: params.version }
      await deps.releaseNotes.yank(release, body.yanked, { name: caller.name, origin })
      await deps.publisher.converge(repository, [release.name])
      return { package: release.name, version: release.version, yanked: body.yanked }
    }),
  ]
}

const keyOf = ({ repo }: { repo: string }) => ({ format: 'pypi', name: repo })

function formOf({ raw }: Pick<Asked<unknown>, 'raw'>): Form {
  const form = formFor(raw.headers.accept)
  if (!form) throw new Problem('not_acceptable', `this is to be had as ${FORMS.join(', ')}`)
  return form
}

const hasSlash = ({ raw }: Pick<Asked<unknown>, 'raw'>) => /^[^?#]*\/(?:[?#]|$)/.test(raw.url)

/** Relative, so that it is right behind every proxy. */
function redirect({ reply }: Pick<Asked<unknown>, 'reply'>, location: string) {
  return reply.code(301).header('location', location).send()
}

/** The repository whose project it is: of a group, the member that has the name. @throws Problem('unauthorized' or 'not_found') */
async function ownerOf({ repositories }: PypiDeps, asked: Asked<{ repo: string; project: string }>) {
  const { params } = asked
  const repository = await readable(repositories, keyOf(params), asked)
  const name = canonicalName(params.project)
  if (name === null) throw new Problem('not_found', 'no project can have this name')
  return { name, owner: await requireOwner(repositories, repository, name, asked) }
}

async function sendMetadata({ db, described }: PypiDeps, call: Asked<unknown>, wanted: FileIn, file: ReachableFile) {
  const text = file.sha256 === null ? await described(wanted) : await storedMetadata(db, file.sha256)
  if (text === null) throw new Problem('not_found', `${wanted.filename} has no metadata beside it`)
  return sendDocument(call, { media: 'text/plain; charset=utf-8', ...(await encoded(text)) })
}

async function storedMetadata(db: Db, sha256: string): Promise<Buffer | null> {
  const { metadata } = (await storedFacts(db, sha256)).record as PypiRecord
  return metadata?.text ? Buffer.from(metadata.text) : null
}

/** The date says nothing, so that only the entity tag tells whether a client has this state. */
async function encoded(plain: Buffer) {
  const etag = `"${createHash('sha256').update(plain).digest('base64url').slice(0, 22)}"`
  return { gzip: await gzipped(plain), etag, modifiedAt: Date.now() }
}
