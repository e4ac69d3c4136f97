// Publishing a Python package: the form of twine and uv, compared with the file that it brings.
import { invalidField, isProblem, Problem } from '../../domain/problem.ts'
import { requireInside } from '../../domain/scopes.ts'
import { comparePep440, normalPep440 } from '../../domain/versions/pep440.ts'
import { canonicalName, means } from '../../formats/pypi/names.ts'
import type { PypiRecord } from '../../formats/pypi/record.ts'
import type { PackageFacts } from '../../domain/package.ts'
import type { Provenance } from '../../gate/provenance/provenance.ts'
import type { Intake } from '../../intake/intake.ts'
import type { IntakeResult, Source } from '../../packages/arrival.ts'
import type { Publisher } from '../../publish/publisher.ts'
import type { Names } from '../../registries/names.ts'
import type { ReleaseNotes } from '../../registries/release-notes.ts'
import type { Repositories } from '../../registries/repositories.ts'
import type { RegistryReader } from '../../serve/registries/registry-reader.ts'
import { readUploadForm } from '../http/multipart.ts'
import type { SignedCall } from '../http/route.ts'
import { writable } from '../registries/access.ts'
import { attestedUpload } from '../registries/attested-upload.ts'
import { documentOf, readAttestations } from './attestations.ts'

export interface PublishDeps {
  repositories: Repositories
  names: Names
  releaseNotes: ReleaseNotes
  reader: RegistryReader
  intake: Intake
  provenance: Provenance
  publisher: Pick<Publisher, 'converge'>
  maxUploadBytes(): number
}

type Upload = SignedCall<{ repo: string }, unknown, unknown>

/** The description is one field, and each requirement and classifier another one. */
const SHAPE = { file: 'content', mostFields: 6000, fieldBytes: 1024 * 1024, formBytes: 4 * 1024 * 1024 }

/** What the client says about the file. */
interface Said {
  filename: string
  name: string
  version: string
  filetype: string | undefined
  md5: string | undefined
  sha256: string | undefined
  attestations: readonly unknown[]
}

/**
 * @returns the sentence for the client
 * @throws Problem as the intake does; `policy_hold` for a file that was refused
 */
export async function publishFile(deps: PublishDeps, call: Upload): Promise<{ status: string; message: string }> {
  const { params, caller, origin } = call
  const key = { format: 'pypi', name: params.repo }
  const repository = (await writable(deps.repositories, key, undefined, caller)).key
  let said: Said | null = null
  const attested = attestedUpload(deps.provenance, () => documentOf(said!.attestations))
  const source: Source = {
    get steps() {
      return attested.steps()
    },
    async deliver(to) {
      to.target(repository)
      said = await readForm(deps, call, repository, to.store)
      const again = await call.admitAgain()
      await writable(deps.repositories, key, said.name, again)
      const stated = said
      return {
        declaredSha256: said.sha256 ?? null,
        scopes: again.scopes ?? null,
        compare: async ({ facts, digests }) => {
          requireSame(stated, facts as PackageFacts<PypiRecord>, digests.md5)
          await deps.names.requireUnspent({ repository, name: facts.name }, { ...facts, sha256: digests.sha256 })
          await requireOneSpelling(deps.reader, repository, facts)
        },
      }
    },
  }
  const by = { name: caller.name, origin }
  const result = await accepted(deps.intake.accept(source, { method: 'upload', importedBy: caller.name, origin }))
  const kept = attested.kept()
  if (kept.length > 0 && 'version' in result) {
    const release = { repository, name: result.package, version: result.version }
    await deps.releaseNotes.attest(release, result.filename, kept, by)
    await deps.publisher.converge(repository, [release.name])
  }
  return result
}

/** The same bytes again are fine, unless they were refused; a refused file is an error of the job that publishes it. */
async function accepted(work: Promise<IntakeResult>): Promise<IntakeResult | { status: string; message: string }> {
  try {
    const result = await work
    if (isRefused(result.status)) throw new Problem('policy_hold', result.message)
    return result
  } catch (error) {
    if (!isProblem(error, 'already_exists')) throw error
    const status = String(error.extra['status'])
    if (isRefused(status)) throw new Problem('policy_hold', `${error.detail}, and was refused`)
    return { status, message: error.detail }
  }
}

const isRefused = (status: string) => status === 'quarantined' || status === 'rejected'

async function readForm(
  deps: PublishDeps,
  { raw, caller }: Upload,
  repository: string,
  store: (bytes: AsyncIterable<Uint8Array>) => Promise<void>,
): Promise<Said> {
  let filename = ''
  const fields = await readUploadForm(raw, {
    maxBytes: deps.maxUploadBytes(),
    shape: SHAPE,
    store: (bytes, name) => {
      filename = name
      return store(bytes)
    },
    field(field, value) {
      if (field === ':action' && value !== 'file_upload') throw invalidField(field, 'is not file_upload')
      if (/^(?:sha256|md5)_digest$/.test(field) && value !== '' && !/^[0-9a-f]+$/i.test(value))
        throw invalidField(field, 'is not in hex')
      if (field === 'attestations') readAttestations(value)
      // Checked before the file is received; both clients send the fields first.
      if (field === 'name')
        requireInside(caller.scopes ?? {}, { distribution: repository, name: canonicalName(value) ?? value })
    },
  })
  for (const field of [':action', 'name', 'version']) if (!fields[field]) throw invalidField(field, 'is required')
  return {
    filename,
    name: canonicalName(fields['name']!) ?? fields['name']!,
    version: fields['version']!,
    filetype: fields['filetype'] || undefined,
    md5: fields['md5_digest'] || undefined,
    sha256: fields['sha256_digest'] || undefined,
    attestations: readAttestations(fields['attestations'] ?? '[]'),
  }
}

/** @throws Problem('invalid_package' or 'checksum_mismatch') */
function requireSame(said: Said, { name, version, record }: PackageFacts<PypiRecord>, md5: string): void {
  if (said.md5 !== undefined && said.md5.toLowerCase() !== md5)
    throw new Problem('checksum_mismatch', 'the bytes received do not have the declared MD5', {
      expected: said.md5,
      actual: md5,
    })
  if (!means(said.filename, name, version, record.file))
    throw new Problem(
      'invalid_package',
      `the file is called ${said.filename}, and its content says otherwise: ${name} ${version}`,
    )
  if (said.name !== name || normalPep440(said.version) !== version)
    throw new Problem(
      'invalid_package',
      `the form says ${said.name} ${said.version}, and the file is ${name} ${version}`,
    )
  const wanted = record.file.kind === 'wheel' ? 'bdist_wheel' : 'sdist'
  if (said.filetype !== undefined && said.filetype !== wanted)
    throw new Problem('invalid_package', `the form says ${said.filetype}, and the file is ${wanted}`)
}

/** 1.0 and 1.0.0 are one version: a second spelling would let other bytes take its place. @throws Problem('duplicate_conflict') */
async function requireOneSpelling(
  reader: RegistryReader,
  repository: string,
  { name, version }: Pick<PackageFacts, 'name' | 'version'>,
): Promise<void> {
  const files = Object.values((await reader.listing(repository, name))?.files ?? {})
  const other = files.find((file) => file.version !== version && comparePep440(file.version, version) === 0)
  if (other)
    throw new Problem(
      'duplicate_conflict',
      `${name} ${version} is the version ${other.version}, which is in ${repository}`,
    )
}
