// Libraries inside packages: found after publication, matched against their own advisories, held and served until a
// person decides; what cannot be read is told and harms nobody.
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { FormatId } from '../../src/domain/package.ts'
import { buildApk } from '../samples/apk.ts'
import { buildDeb } from '../samples/deb.ts'
import { writeAdvisories } from '../samples/osv.ts'
import { buildRpm } from '../samples/rpm.ts'
import { buildJar, buildZip } from '../samples/zip.ts'
import { removeTemporary, startService, type Service } from '../service.ts'

const MIB = 1024 * 1024

let directory: string
let service: Service

type Files = Record<string, string | Uint8Array>

interface Kind {
  codename: string
  version: string
  build(name: string, files: Files): Promise<Buffer> | Buffer
  /** files that carry a library of that name and version */
  library(version: string): Files
  /** how findings and advisories name it */
  ecosystem: 'npm' | 'Maven' | 'PyPI'
  type: string
  name: string
  purl: string
}

const KINDS: Record<FormatId, Kind> = {
  deb: {
    codename: 'jammy',
    version: '1.0-1',
    build: (name, files) => buildDeb({ name, version: '1.0-1', files }),
    library: (version) => ({ 'opt/app/node_modules/@acme/left-pad/package.json': JSON.stringify({ name: '@acme/left-pad', version, license: 'MIT' }), 'opt/app/node_modules/@acme/left-pad/index.js': '1' }),
    ecosystem: 'npm',
    type: 'npm',
    name: '@acme/left-pad',
    purl: 'pkg:npm/%40acme/left-pad',
  },
  rpm: {
    codename: 'almalinux9',
    version: '1.0-1',
    build: (name, files) => buildRpm({ name, version: '1.0', release: '1', arch: 'x86_64', files: Object.entries(files).map(([path, content]) => ({ path: `/${path}`, content })) }),
    library: (version) => ({ 'opt/app/app.war': buildZip([{ name: 'WEB-INF/lib/logger.jar', content: buildJar('org.example', 'logger', version), stored: true }]) }),
    ecosystem: 'Maven',
    type: 'maven',
    name: 'org.example:logger',
    purl: 'pkg:maven/org.example/logger',
  },
  apk: {
    codename: 'alpine3.21',
    version: '1.0-r1',
    build: (name, files) => buildApk({ name, version: '1.0-r1', files }),
    library: (version) => ({ 'usr/lib/python3.12/site-packages/Acme_Http.dist-info/METADATA': `Metadata-Version: 2.1\nName: Acme_Http\nVersion: ${version}\nLicense: BSD\n\nName: another\n` }),
    ecosystem: 'PyPI',
    type: 'pypi',
    name: 'Acme_Http',
    purl: 'pkg:pypi/acme-http',
  },
}
const FORMATS = Object.keys(KINDS) as FormatId[]

const upload = async (format: FormatId, name: string, files: Files) => {
  const { body } = await service.upload(await KINDS[format].build(name, files), `anything.${format}`, { distribution: KINDS[format].codename })
  return body as Record<string, any>
}

/** The record once its libraries were looked at. */
async function lookedAt(name: string): Promise<Record<string, any>> {
  for (;;) {
    const { body } = await service.call('GET', `/artifacts/${name}`)
    const record = body.versions[0]
    if (record.coverage.dependency_scan) return record
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

async function imported(): Promise<void> {
  for (;;) {
    const { status, body } = await service.call('POST', '/security/vulnscan/update')
    if (status === 409) continue
    expect(status, JSON.stringify(body)).toBe(200)
    expect(['updated', 'up_to_date'], body.message).toContain(body.status)
    return
  }
}

const served = async (format: FormatId, name: string) =>
  (await service.call('GET', '/packages/')).body.packages.some((file: string) => file.startsWith(name) && file.endsWith(`.${format}`))

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'gate-components-'))
  await writeAdvisories(directory, [
    ...FORMATS.map((format) => ({ id: `GHSA-${format}`, ecosystem: KINDS[format].ecosystem, package: KINDS[format].name, fixed: '2.0', cve: `CVE-2026-300${FORMATS.indexOf(format)}`, severity: 'critical' as const })),
    // The package and a library inside it, each with a hole, and both with the same one.
    { id: 'USN-both', ecosystem: 'Ubuntu:22.04:LTS', package: 'both', fixed: null, cve: 'CVE-2026-3100', severity: 'low' as const },
    { id: 'USN-shared', ecosystem: 'Ubuntu:22.04:LTS', package: 'both', fixed: null, cve: 'CVE-2026-3000', severity: 'low' as const },
    { id: 'AL-1', ecosystem: 'AlmaLinux:9', package: 'nothing', fixed: null, cve: 'CVE-2026-3999', severity: 'low' as const },
    { id: 'ALP-1', ecosystem: 'Alpine:v3.21', package: 'nothing', fixed: null, cve: 'CVE-2026-3999', severity: 'low' as const },
  ])
  service = await startService({ env: { SVC_OSV_DIR: directory, REPO_FORMAT: 'all' } })
  await imported()
})
afterAll(async () => {
  await service?.stop()
  await removeTemporary()
  await rm(directory, { recursive: true, force: true })
})

describe.each(FORMATS)('%s', (format) => {
  const { codename, version, library, type, name, purl, ecosystem } = KINDS[format]
  const [carrier, mended] = [`carrier-${format}`, `mended-${format}`]
  const cve = `CVE-2026-300${FORMATS.indexOf(format)}`

  it('a package with a library that has a critical hole is published, then held for review and still served', async () => {
    expect(await upload(format, carrier, library('1.5'))).toMatchObject({ status: 'published', pipeline: { cve_scan: 'no_findings' } })
    const record = await lookedAt(carrier)
    expect(record).toMatchObject({ status: 'pending_review', served: true, held_reason: 'dependency_scan', cve_summary: { scanned: true, critical: 1 } })
    expect(record.cve_results).toMatchObject([{ id: cve, package_name: name, package_version: '1.5', package_type: type, action: 'block', sources: ['osv-components'], fix_versions: ['2.0'] }])
    expect(record.coverage.dependency_scan).toMatchObject({ engine: 'osv-components', distro_matched: ecosystem, files_seen: 1, files_skipped: [] })
    expect(await served(format, carrier)).toBe(true)
    const { body } = await service.call('GET', '/security/review-queue')
    expect(body.items.find((one: { name: string }) => one.name === carrier)).toMatchObject({ origin: 'dependency_scan', sla: { has_sla: true } })
  })

  it('its bill of materials shows the library, with the hole on it', async () => {
    const cyclonedx = await service.call('GET', `/sbom/${carrier}/${encodeURIComponent(version)}?distribution=${codename}`)
    const main = [cyclonedx.body.metadata.component, ...cyclonedx.body.components].find((one: any) => one?.components)
    expect(main.components).toMatchObject([{ purl: `${purl}@1.5` }])
    expect(cyclonedx.body.vulnerabilities).toMatchObject([{ id: cve, affects: [{ ref: main.components[0]['bom-ref'] }] }])
    const spdx = await service.call('GET', `/sbom/${carrier}/${encodeURIComponent(version)}?format=spdx&distribution=${codename}`)
    expect(JSON.stringify(spdx.body)).toContain(`${purl}@1.5`)
  })

  it('is decided once: neither a rescan nor a change of the advisory brings it back, a new hole does', async () => {
    const decided = await service.call('POST', `/security/packages/${carrier}/${encodeURIComponent(version)}/decide`, { decision: 'approve', justification: 'not reachable here', distribution: codename })
    expect(decided.body).toMatchObject({ new_status: 'published' })
    const again = await service.call('POST', `/security/packages/${carrier}/${encodeURIComponent(version)}/rescan`, { distribution: codename })
    expect(again.body).toMatchObject({ new_status: 'published', new_cve_ids: [], dropped_cve_ids: [], cve_count: 1 })
    await writeAdvisories(directory, [{ id: `GHSA-${format}`, ecosystem, package: name, fixed: '2.1', cve, severity: 'critical', modified: '2026-02-01T00:00:00Z' }])
    await imported()
    const record = await lookedAt(carrier)
    expect(record).toMatchObject({ status: 'published', cve_results: [{ id: cve, fix_versions: ['2.1'], accepted_by_decision: true }] })
    await writeAdvisories(directory, [{ id: `GHSA-${format}-2`, ecosystem, package: name, fixed: null, cve: `CVE-2026-320${FORMATS.indexOf(format)}`, severity: 'high' }])
    await imported()
    expect(await lookedAt(carrier)).toMatchObject({ status: 'pending_review', served: true, held_reason: 'rematch' })
    await rm(join(directory, `GHSA-${format}-2.json`))
    await imported()
    expect((await lookedAt(carrier)).cve_results).toMatchObject([{ id: cve }])
  })

  it('one with the fix stays published', async () => {
    expect(await upload(format, mended, library('2.1'))).toMatchObject({ status: 'published' })
    expect(await lookedAt(mended)).toMatchObject({ status: 'published', held_reason: null, cve_results: [] })
  })
})
