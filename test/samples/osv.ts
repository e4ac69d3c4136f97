// Writes advisories in OSV format (schema 1.6) for tests.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

export const VECTORS = {
  critical: 'CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H',
  high: 'CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:N/A:N',
  medium: 'CVSS:3.1/AV:N/AC:L/PR:L/UI:N/S:U/C:L/I:L/A:N',
  low: 'CVSS:3.1/AV:N/AC:H/PR:L/UI:R/S:U/C:L/I:N/A:N',
}

export interface SampleAdvisory {
  id: string
  /** `Ubuntu:22.04:LTS`, `AlmaLinux:9`, `Alpine:v3.21`, `PyPI` */
  ecosystem: string
  package: string
  /** the first affected version; all below `fixed` by default */
  introduced?: string
  /** null: there is no fix */
  fixed: string | null
  severity?: keyof typeof VECTORS
  cve?: string
  modified?: string
}

export async function writeAdvisories(directory: string, advisories: readonly SampleAdvisory[]): Promise<void> {
  await mkdir(directory, { recursive: true })
  for (const one of advisories) {
    const {
      id,
      ecosystem,
      package: name,
      fixed,
      introduced = '0',
      severity,
      cve,
      modified = '2026-01-01T00:00:00Z',
    } = one
    const record = {
      schema_version: '1.6.0',
      id,
      modified,
      published: '2026-01-01T00:00:00Z',
      summary: `a hole in ${name}`,
      details: `Somebody can reach through ${name}.`,
      ...(cve ? { upstream: [cve], aliases: [] } : {}),
      ...(severity ? { severity: [{ type: 'CVSS_V3', score: VECTORS[severity] }] } : {}),
      affected: [
        {
          package: { ecosystem, name },
          ranges: [{ type: 'ECOSYSTEM', events: [{ introduced }, ...(fixed === null ? [] : [{ fixed }])] }],
        },
      ],
      references: [{ type: 'ADVISORY', url: `https://example.org/${id}` }],
    }
    await writeFile(join(directory, `${id}.json`), JSON.stringify(record))
  }
}
