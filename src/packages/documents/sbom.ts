// Creates the documents: SBOMs of a package or the repository, SARIF and OpenVEX. Knows no HTTP.
import { unknownDistribution } from '../../formats/unknown-distribution.ts'
import type { Distribution } from '../../domain/package.ts'
import { Problem } from '../../domain/problem.ts'
import { matchingRecords } from '../../store/records/artifact-query.ts'
import { countOffered } from '../records/inventory-query.ts'
import { packageContents, repositoryContents, type Contents, type ContentsDeps } from './contents.ts'
import { cyclonedx } from './cyclonedx.ts'
import { batched } from './json-stream.ts'
import { openvex } from './openvex.ts'
import { sarif } from './sarif.ts'
import { spdx } from './spdx.ts'

export const SBOM_FORMATS = ['cyclonedx', 'spdx'] as const
export type SbomFormat = (typeof SBOM_FORMATS)[number]

/** A document whose text is produced in pieces and never in memory as a whole. */
export interface Document {
  mediaType: string
  /** a file name of safe characters */
  filename: string
  content: AsyncIterable<string>
}

/** Selects a record by name and version. */
export interface PackageSelector {
  name: string
  version: string
  distribution?: string | undefined
  arch?: string | undefined
}

export interface Sbom {
  /** For the newest published record that matches. @throws Problem('not_found') */
  ofPackage(selector: PackageSelector, format: SbomFormat): Promise<Document>
  /** For all offered packages. @throws Problem('unknown_distribution') */
  ofRepository(codename: string | undefined, format: SbomFormat): Promise<Document>
  /** The document for the first few packages. @throws Problem('unknown_distribution') */
  preview(
    codename: string | undefined,
    format: SbomFormat,
  ): Promise<{ total_packages: number; format: SbomFormat; preview: Record<string, unknown> }>
  /** @throws Problem('not_found') */
  sarifOfPackage(selector: PackageSelector): Promise<Document>
  /** @throws Problem('unknown_distribution') */
  sarifOfRepository(codename: string | undefined): Promise<Document>
  /** The active decisions. @throws Problem('unknown_distribution') */
  openvex(codename: string | undefined): Promise<Document>
}

export interface SbomDeps extends ContentsDeps {
  /** of this service; documents name it as their tool */
  version: string
  /** all known distributions */
  distributions: readonly Distribution[]
}

const PREVIEWED = 10

const WRITERS = {
  cyclonedx: { write: cyclonedx, mediaType: 'application/vnd.cyclonedx+json', suffix: '.cdx.json' },
  spdx: { write: spdx, mediaType: 'application/spdx+json', suffix: '.spdx.json' },
}

export function createSbom(deps: SbomDeps): Sbom {
  function checkDistribution(codename: string | undefined): Distribution | null {
    if (codename === undefined) return null
    const found = deps.find(codename)
    if (!found) throw unknownDistribution(codename, deps.distributions, 'unknown_distribution')
    return found.distribution
  }

  async function contentsOf(selector: PackageSelector): Promise<Contents> {
    const rows = await matchingRecords(deps.db, selector).select(['id', 'status', 'imported_at']).execute()
    const isPublished = (status: string) => Number(status === 'published')
    const newest = rows.sort(
      (a, b) =>
        isPublished(b.status) - isPublished(a.status) ||
        b.imported_at.getTime() - a.imported_at.getTime() ||
        b.id - a.id,
    )[0]
    const contents = newest ? await packageContents(deps, newest.id) : null
    if (!contents)
      throw new Problem(
        'not_found',
        `there is no package ${[selector.name, selector.version, selector.distribution, selector.arch].filter(Boolean).join(' ')}`,
      )
    return contents
  }

  const bom = (contents: Contents, format: SbomFormat): Document => {
    const { write, mediaType, suffix } = WRITERS[format]
    return { mediaType, filename: nameOf(contents) + suffix, content: batched(write(contents, deps.version)) }
  }
  const findings = (contents: Contents): Document => ({
    mediaType: 'application/sarif+json',
    filename: `${nameOf(contents)}.sarif`,
    content: batched(sarif(contents, deps.version)),
  })

  return {
    ofPackage: async (selector, format) => bom(await contentsOf(selector), format),
    async ofRepository(codename, format) {
      checkDistribution(codename)
      return bom(repositoryContents(deps, codename), format)
    },
    async preview(codename, format) {
      checkDistribution(codename)
      const total = await countOffered(deps.db, codename)
      let text = ''
      for await (const piece of WRITERS[format].write(repositoryContents(deps, codename, PREVIEWED), deps.version))
        text += piece
      return { total_packages: total, format, preview: JSON.parse(text) as Record<string, unknown> }
    },
    sarifOfPackage: async (selector) => findings(await contentsOf(selector)),
    async sarifOfRepository(codename) {
      checkDistribution(codename)
      return findings(repositoryContents(deps, codename))
    },
    async openvex(codename) {
      checkDistribution(codename)
      return {
        mediaType: 'application/json',
        filename: `gatehouse-${codename ?? 'all'}.openvex.json`,
        content: batched(openvex(deps, codename, deps.version)),
      }
    },
  }
}

function nameOf({ subject, distribution }: Contents): string {
  const name = subject
    ? [subject.row.name, subject.row.version, subject.row.arch].join('_')
    : `gatehouse-${distribution?.codename ?? 'all'}`
  return name.replace(/[^A-Za-z0-9._+~-]+/g, '-').slice(0, 200)
}
