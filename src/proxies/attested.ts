// What others signed about a file of an upstream: fetched when the file is judged, once, and verified against its bytes.
import { DEFAULT_CURATION } from '../domain/curation.ts'
import { isProblem } from '../domain/problem.ts'
import { otherRepository, type KeptAttestation } from '../domain/provenance.ts'
import type { RegistryFormat, UpstreamFile } from '../formats/registry-format.ts'
import { MOST_DOCUMENT_BYTES, type ProvenanceFound } from '../gate/provenance/messages.ts'
import { attestationsOf, keptOf, provenanceSeen, type Provenance } from '../gate/provenance/provenance.ts'
import type { Step } from '../gate/step.ts'
import type { Repository } from '../registries/repositories.ts'
import type { RegistryAddress, RegistryClient } from '../upstream/registries/registry-client.ts'
import { asRegistryKey, type RegistryKeys } from './registry-keys.ts'

export interface Attested {
  /** none for a file about which the upstream lists nothing */
  steps: Step[]
  /** what was verified, once the steps ran */
  kept(): KeptAttestation[]
}

export interface AttestedDeps {
  client: Pick<RegistryClient, 'text'>
  provenance: Provenance
  keys: RegistryKeys
  formatOf(repository: Repository): RegistryFormat
  addressOf(repository: Repository): RegistryAddress
}

export type FindAttested = (repository: Repository, file: UpstreamFile) => Attested

export function createAttested({ client, provenance, keys, formatOf, addressOf }: AttestedDeps): FindAttested {
  return (repository, file) => {
    const { signatures = [], attestedAt, publishedAt, version } = file
    if (signatures.length === 0 && attestedAt === undefined) return { steps: [], kept: () => [] }
    const isRequired = { ...DEFAULT_CURATION, ...repository.curation }.provenance === 'require'
    let found: ProvenanceFound | null = null
    const step: Step = {
      key: 'attestations',
      label: 'Attestations',
      async run({ format, facts, digests, filename }) {
        const [read, listed] = await Promise.all([
          documentOf(client, addressOf(repository), file),
          keys.of(
            repository,
            signatures.map(({ keyid }) => keyid),
          ),
        ])
        const subject = { name: facts.name, version, filename, digests }
        const asked = { format: format.id, file: subject, publishedAt, signatures, document: read.document }
        found = await provenance.verify({ ...asked, keys: listed && listed.map(asRegistryKey) })
        const stated = formatOf(repository).attestations.repositoryOf?.(facts) ?? null
        const other = otherRepository(attestationsOf(found), stated)
        const faults = [...read.faults, ...found.faults]
        const doubts = [...read.doubts, ...found.doubts, ...(other === null ? [] : [other])]
        return { seen: provenanceSeen({ ...found, faults, doubts }, isRequired) }
      },
    }
    return { steps: [step], kept: () => (found ? keptOf(found) : []) }
  }
}

async function documentOf(
  client: AttestedDeps['client'],
  at: RegistryAddress,
  { attestedAt, url }: UpstreamFile,
): Promise<{ document: string | null; faults: string[]; doubts: string[] }> {
  const nothing = { document: null, faults: [], doubts: [] }
  if (attestedAt === undefined) return nothing
  const missing = (why: string) => ({ ...nothing, doubts: [`its attestations cannot be had: ${why}`] })
  const { origin, host } = new URL(attestedAt)
  if (![at.url, url].some((known) => new URL(known).origin === origin))
    return missing(`they are on ${host}, which is neither the host of its list nor its own`)
  try {
    const document = await client.text(at, attestedAt, MOST_DOCUMENT_BYTES)
    return document === null ? missing(`${host} has none`) : { ...nothing, document }
  } catch (error) {
    if (!isProblem(error)) throw error
    // What an upstream answers counts; that it does not answer proves nothing.
    const isAnswer = ['too_large', 'malformed'].includes(String(error.extra['reason']))
    return isAnswer
      ? { ...nothing, faults: [`its attestations cannot be read: ${error.detail}`] }
      : missing(error.detail)
  }
}
