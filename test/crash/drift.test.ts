// Damage to a running service of all formats: the drift scan finds each, and the repair restores the repositories.
import { readdir, readFile, rm, writeFile, mkdir } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { removeTemporary, startService, type Service } from '../service.ts'
import { buildPackage, type Format } from './packages.ts'
import { readHttp, readRepository } from './read-repository.ts'
import { waitFor } from './state.ts'

const DISTRIBUTIONS: Record<Format, string> = { apt: 'jammy', rpm: 'rocky9', apk: 'alpine3.20' }
const FORMATS = Object.keys(DISTRIBUTIONS) as Format[]
const VERSIONS: Record<Format, string> = { apt: '1.0', rpm: '1.0-1', apk: '1.0-r0' }

let service: Service
beforeAll(async () => {
  service = await startService({ env: { REPO_FORMAT: 'all' } })
  for (const format of FORMATS) for (const name of ['alpha', 'beta', 'gamma']) await upload(format, name)
})
afterAll(async () => {
  await service?.kill()
  await removeTemporary()
})

async function upload(format: Format, name: string): Promise<void> {
  const file = await buildPackage(format, { name, version: VERSIONS[format] })
  const { status } = await service.upload(file, `${name}.${format}`, { distribution: DISTRIBUTIONS[format] })
  expect(status).toBe(201)
}

/** @returns the open findings as `area fault subject` */
async function scan(): Promise<string[]> {
  const { body } = await service.call('POST', '/artifacts/admin/drift-scan')
  const task = await waitFor('the end of the scan', async () => {
    const answer = await service.call('GET', `/tasks/${body.task_id}`)
    return ['done', 'failed'].includes(answer.body.state) && answer.body
  })
  expect(task.error).toBeNull()
  const { body: page } = await service.call('GET', '/artifacts/admin/drift?per_page=200')
  return page.items.map((one: { area: string; fault: string; subject: string }) =>
    [one.area, one.fault, one.subject].join(' '),
  )
}

const readAll = async () => {
  const key = await readFile(join(service.reposDir, 'keys', 'gpg.key'), 'utf8')
  const found: Record<string, string[]> = {}
  for (const codename of Object.values(DISTRIBUTIONS)) {
    const { packages } = await readRepository(readHttp(service), codename, key)
    found[codename] = [...packages.keys()].map((one) => one.split(' ')[0]!).sort()
  }
  return found
}

/** Paths of the files below a directory, relative to the repositories. */
async function filesIn(directory: string): Promise<string[]> {
  const entries = await readdir(join(service.reposDir, directory), { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(service.reposDir, join(entry.parentPath, entry.name)))
}

const drift = async () => (await service.call('GET', '/health')).body.checks.info.drift

describe('the drift scan', () => {
  it('is unknown in the health report before the first one, and has a next run', async () => {
    expect(await drift()).toMatchObject({ ok: false, status: 'unknown', last_scan: null, age_seconds: null })
    const { jobs } = (await service.call('GET', '/health')).body.checks.non_critical.scheduler
    expect(jobs).toContainEqual(expect.objectContaining({ id: 'drift_scan', paused: false }))
  })

  it('reports nothing while packages are uploaded, published and deleted', async () => {
    let ended = false
    const busy = FORMATS.map(async (format) => {
      for (let n = 0; !ended; n++) {
        await upload(format, `busy-${n}`)
        if (n > 0) await service.call('DELETE', `/artifacts/busy-${n - 1}?distribution=${DISTRIBUTIONS[format]}`)
      }
    })
    const found: string[] = []
    for (let n = 0; n < 3; n++) found.push(...(await scan()))
    ended = true
    await Promise.all(busy)
    expect(found).toEqual([])
    expect(await drift()).toMatchObject({ ok: true, status: 'clean', findings: 0 })
  })

  it('finds each damage once, and the repair leaves whole repositories', async () => {
    const before = await readAll()
    const damaged: string[] = []
    const damage = async (finding: string, path: string, change: (path: string) => Promise<void>) => {
      damaged.push(`${finding} ${path}`)
      await change(join(service.reposDir, path))
    }
    const flip = async (path: string) => {
      const bytes = await readFile(path)
      bytes[bytes.length - 20]! ^= 1
      await writeFile(path, bytes)
    }
    const one = (paths: string[], pattern: RegExp) => {
      const path = paths.sort().find((candidate) => pattern.test(candidate))
      if (path === undefined) throw new Error(`no file matches ${String(pattern)}: ${paths.join(' ')}`)
      return path
    }
    const pool = await filesIn('pool')
    const trees = [...(await filesIn('.generations')), ...(await filesIn('apk'))]
    for (const suffix of ['deb', 'rpm', 'apk']) {
      await damage('pool wrong_content', one(pool, new RegExp(`/gamma[^/]*\\.${suffix}$`)), flip)
      await damage('pool missing', one(pool, new RegExp(`/alpha[^/]*\\.${suffix}$`)), rm)
      await damage('tree missing', one(trees, new RegExp(`/beta[^/]*\\.${suffix}$`)), rm)
    }
    const manifests = await filesIn('manifests')
    for (const format of FORMATS)
      await damage('manifests missing', one(manifests, new RegExp(`^manifests/${DISTRIBUTIONS[format]}/.*beta_`)), rm)
    // Not in jammy, because its Contents may be published at any moment, in a new generation.
    await damage('index wrong_content', 'rpm/rocky9/x86_64/repodata/repomd.xml', flip)
    await damage('index wrong_content', '.generations/apk/alpine3.20/live/x86_64/APKINDEX.tar.gz', flip)
    await damage('pool unknown', `pool/deb/ab/${'ab'.repeat(32)}/delta.deb`, async (path) => {
      await mkdir(dirname(path), { recursive: true })
      await writeFile(path, 'bytes')
    })
    await damage('tree unknown', 'apk/alpine3.20/main/x86_64/delta-1.0-r0.apk', (path) => writeFile(path, 'bytes'))

    expect((await scan()).sort()).toEqual(damaged.sort())
    expect(await drift()).toMatchObject({ ok: false, status: 'drift', findings: damaged.length })
    const { body: metrics } = await service.call('GET', '/metrics')
    expect(metrics).toMatch(/^svc_drift_findings\{area="manifests"\} 3$/m)
    await scan()
    const alerts = await service.call('GET', '/artifacts/audit/logs?action=INTEGRITY_ALERT')
    const reported = (alerts.body.items as { extra: { findings: number } }[]).map(({ extra }) => extra.findings)
    // Damaged bytes are found only at the end.
    expect(reported).toEqual([3, damaged.length - 3])

    const plan = await service.call('POST', '/artifacts/admin/repair', { dry_run: true })
    expect(plan.body).toMatchObject({ status: 'dry_run', findings: damaged.length, resolved: 0 })
    const { status, body } = await service.call('POST', '/artifacts/admin/repair')
    expect([status, body.findings]).toEqual([200, damaged.length])
    expect(body.results.filter((result: { resolved: boolean }) => !result.resolved)).toEqual([])

    // No intact copy of gamma exists: clients are no longer offered it.
    const withoutGamma = Object.entries(before).map(([codename, names]) => [
      codename,
      names.filter((name) => name !== 'gamma'),
    ])
    expect(await readAll()).toEqual(Object.fromEntries(withoutGamma))
    const left = await scan()
    expect(left).toHaveLength(3)
    for (const finding of left) expect(finding).toMatch(/^quarantine missing staging\/quarantine\/[0-9a-f]{64}\/gamma/)
    for (const format of FORMATS)
      expect((await service.call('DELETE', `/artifacts/gamma?distribution=${DISTRIBUTIONS[format]}`)).status).toBe(200)
    expect(await scan()).toEqual([])
    for (const format of FORMATS) await upload(format, 'gamma')
    expect(await readAll()).toEqual(before)
  })
})
