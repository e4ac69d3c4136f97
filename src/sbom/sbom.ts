// The documents of this room by name: SBOMs of a package and of the repository, SARIF, OpenVEX. Knows no HTTP.
import { unknownDistribution } from '../formats/unknown-distribution.ts'
import type { Distribution } from '../domain/package.ts'
import { Problem } from '../domain/problem.ts'
import { selectRecords } from '../store/records/artifact-query.ts'
import { countOffered } from '../store/records/inventory-query.ts'
import { packageContents, repositoryContents, type Contents, type ContentsParts } from './contents.ts'
import { cyclonedx } from './cyclonedx.ts'
import { batched } from './json-stream.ts'
import { openvex } from './openvex.ts'
import { sarif } from './sarif.ts'
import { spdx } from './spdx.ts'

export const SBOM_FORMATS = ['cyclonedx', 'spdx'] as const
export type SbomFormat = (typeof SBOM_FORMATS)[number]

/** A document on its way: its text comes in pieces and is never held as a whole. */
export interface Document {
  mediaType: string
  /** a name to keep it under, of harmless characters */
  filename: string
  content: AsyncIterable<string>
}

/** Which record of a name and version is meant. */
export interface PackageSelector {
  name: string
  version: string
  distribution?: string | undefined
  arch?: string | undefined
}

export interface Sbom {
  /** Of several records the newest that is published. @throws Problem('not_found') */
  ofPackage(selector: PackageSelector, format: SbomFormat): Promise<Document>
  /** Of all that is offered. @throws Problem('unknown_distribution') */
  ofRepository(codename: string | undefined, format: SbomFormat): Promise<Document>
  /** The document that the first few packages would make. @throws Problem('unknown_distribution') */
  preview(
    codename: string | undefined,
    format: SbomFormat,
  ): Promise<{ total_packages: number; format: SbomFormat; preview: Record<string, unknown> }>
  /** @throws Problem('not_found') */
  sarifOfPackage(selector: PackageSelector): Promise<Document>
  /** @throws Problem('unknown_distribution') */
  sarifOfRepository(codename: string | undefined): Promise<Document>
  /** Decisions in force. @throws Problem('unknown_distribution') */
  openvex(codename: string | undefined): Promise<Document>
}

export interface SbomParts extends ContentsParts {
  /** of this service, which the documents name as their tool */
  version: string
}

const PREVIEWED = 10

const WRITERS = {
  cyclonedx: { write: cyclonedx, mediaType: 'application/vnd.cyclonedx+json', suffix: '.cdx.json' },
  spdx: { write: spdx, mediaType: 'application/spdx+json', suffix: '.spdx.json' },
}

export function createSbom(parts: SbomParts): Sbom {
  function checkDistribution(codename: string | undefined): Distribution | null {
    if (codename === undefined) return null
    const found = parts.find(codename)
    if (!found) throw unknownDistribution(codename, 'unknown_distribution')
    return found.distribution
  }

  async function contentsOf(selector: PackageSelector): Promise<Contents> {
    const rows = await selectRecords(parts.db, selector)
    const standing = (status: string) => Number(status === 'published')
    const newest = rows.sort(
      (a, b) =>
        standing(b.status) - standing(a.status) || b.imported_at.getTime() - a.imported_at.getTime() || b.id - a.id,
    )[0]
    const contents = newest ? await packageContents(parts, newest.id) : null
    if (!contents)
      throw new Problem(
        'not_found',
        `there is no package ${[selector.name, selector.version, selector.distribution, selector.arch].filter(Boolean).join(' ')}`,
      )
    return contents
  }

  const bom = (contents: Contents, format: SbomFormat): Document => {
    const { write, mediaType, suffix } = WRITERS[format]
    return { mediaType, filename: nameOf(contents) + suffix, content: batched(write(contents, parts.version)) }
  }
  const findings = (contents: Contents): Document => ({
    mediaType: 'application/sarif+json',
    filename: `${nameOf(contents)}.sarif`,
    content: batched(sarif(contents, parts.version)),
  })

  return {
    ofPackage: async (selector, format) => bom(await contentsOf(selector), format),
    async ofRepository(codename, format) {
      checkDistribution(codename)
      return bom(repositoryContents(parts, codename), format)
    },
    async preview(codename, format) {
      checkDistribution(codename)
      const total = await countOffered(parts.db, codename)
      let text = ''
      for await (const piece of WRITERS[format].write(repositoryContents(parts, codename, PREVIEWED), parts.version))
        text += piece
      return { total_packages: total, format, preview: JSON.parse(text) as Record<string, unknown> }
    },
    sarifOfPackage: async (selector) => findings(await contentsOf(selector)),
    async sarifOfRepository(codename) {
      checkDistribution(codename)
      return findings(repositoryContents(parts, codename))
    },
    async openvex(codename) {
      checkDistribution(codename)
      return {
        mediaType: 'application/json',
        filename: `gatehouse-${codename ?? 'all'}.openvex.json`,
        content: batched(openvex(parts, codename, parts.version)),
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
