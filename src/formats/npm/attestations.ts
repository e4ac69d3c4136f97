// How npm packages are attested: https://github.com/npm/attestation, and the signatures of registries.
import { isObject, objectAt, objectsAt, stringAt } from '../../domain/json.ts'
import type { AttestationReading } from '../registry-format.ts'
import type { NpmRecord } from './read.ts'

/** The form of the document with the attestations of a version. */
export const attestationsForm = (version: string): string => `attestations ${version}`

export const npmAttestations: AttestationReading<NpmRecord> = {
  list(document) {
    if (!isObject(document) || !Array.isArray(document['attestations'])) return null
    return objectsAt(document, 'attestations').map(({ predicateType, bundle }) => {
      const kind = typeof predicateType === 'string' ? predicateType : kindOf(bundle)
      return { bundle, kept: { ...(kind === null ? {} : { predicateType: kind }), bundle } }
    })
  },
  isNamed: (subject, { name, version }) => subject.name === purlOf(name, version),
  digest: 'sha512',
  repositoryOf({ record: { manifest } }) {
    const { repository } = manifest
    const stated = isObject(repository) ? stringAt(repository, 'url') : repository
    return typeof stated === 'string' && stated.length <= 300 ? repositoryAt(stated) : null
  },
  signedText: ({ name, version, digests }) =>
    `${name}@${version}:sha512-${Buffer.from(digests.sha512, 'hex').toString('base64')}`,
}

/** What `npm publish` sends does not name it beside the bundle. */
function kindOf(bundle: unknown): string | null {
  const payload = isObject(bundle) ? stringAt(objectAt(bundle, 'dsseEnvelope'), 'payload') : null
  try {
    const statement: unknown = JSON.parse(Buffer.from(payload ?? '', 'base64').toString('utf8'))
    return isObject(statement) ? stringAt(statement, 'predicateType') : null
  } catch {
    return null
  }
}

const SHORT_HOSTS: Readonly<Record<string, string>> = {
  github: 'github.com',
  gitlab: 'gitlab.com',
  bitbucket: 'bitbucket.org',
}

/** `git+https://github.com/acme/lib.git`, `git@github.com:acme/lib`, `github:acme/lib`, `acme/lib` */
function repositoryAt(stated: string): string | null {
  const [, short = 'github', path] = /^(?:(github|gitlab|bitbucket):)?([\w.-]+\/[\w.-]+)$/.exec(stated) ?? []
  if (path !== undefined) return `https://${SHORT_HOSTS[short]}/${path}`
  const [, host, rest] =
    /^(?:[a-z+]+:\/\/)?(?:[^@/]+@)?([\w.-]+)[/:]([\w./-]+?)(?:\.git)?\/?(?:#.*)?$/.exec(stated) ?? []
  return host === undefined ? null : `https://${host}/${rest}`
}

/** `pkg:npm/%40scope/name@1.0.0`, as npm writes it */
const purlOf = (name: string, version: string): string => `pkg:npm/${name.replace(/^@/, '%40')}@${version}`
