// Publishes and deletes packages of all three formats without a pause while real apt clients, and strict readers instead
// of dnf and apk, read the repositories: no update fails, no byte is wrong, nothing is lost. It takes about a minute; the
// long form runs a given number of operations:
//   SOAK_OPERATIONS=500 npx vitest run --config vitest.suites.config.ts test/soak
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createAptRoot, type AptRoot } from '../clients/apt-root.ts'
import { createInstallations, type Installation, type Installations } from '../crash/installations.ts'
import { readRepository, readHttp } from '../crash/read-repository.ts'
import { archOf, buildPackage, type Format } from '../crash/packages.ts'
import { examine } from '../crash/state.ts'
import { need } from '../need.ts'
import { startService, type Service } from '../service.ts'

const OPERATIONS = Number(process.env['SOAK_OPERATIONS'] ?? 0)
/** Duration without a number of operations. */
const SHORT_MS = 45_000
const CLIENTS = 3
const CODENAMES: Record<Format, string> = { apt: 'jammy', rpm: 'rocky9', apk: 'alpine3.20' }
/** The format of each uploader. */
const UPLOADERS: Format[] = ['apt', 'apt', 'apt', 'apt', 'rpm', 'apk']

let installations: Installations
let installation: Installation
let service: Service
let key: string
const roots: AptRoot[] = []
beforeAll(async () => {
  need('apt')
  installations = await createInstallations('postgres')
  installation = await installations.copy()
  service = await startService({ ...installation, env: { REPO_FORMAT: 'all' }, optimized: true })
  key = await readFile(join(installation.reposDir, 'keys', 'gpg.key'), 'utf8')
  for (let n = 0; n < CLIENTS; n++)
    roots.push(await createAptRoot({ url: `${service.apt}/repos`, suite: CODENAMES.apt, key }))
})
afterAll(async () => {
  await service?.kill()
  for (const root of roots) await root.remove()
  await installations?.remove()
})

/** Digests of acknowledged packages by `name version`. A package is stable until an uploader is about to delete it. */
const stable: Record<Format, Map<string, string>> = { apt: new Map(), rpm: new Map(), apk: new Map() }
const figures = {
  seconds: 0,
  publishes: { apt: 0, rpm: 0, apk: 0 },
  deletes: { apt: 0, rpm: 0, apk: 0 },
  updates: 0,
  downloads: 0,
  reads: { rpm: 0, apk: 0 },
  slowestPublishMs: 0,
}

it(
  'clients never see a broken repository during publishes and deletions',
  async () => {
    const started = Date.now()
    const until = OPERATIONS > 0 ? Infinity : Date.now() + SHORT_MS
    let left = OPERATIONS > 0 ? OPERATIONS : Infinity
    const more = () => left-- > 0 && Date.now() < until
    let over = false
    const uploading = Promise.all(UPLOADERS.map((format, n) => bring(format, `soak-${n}`, more))).finally(
      () => (over = true),
    )
    const isOver = () => over
    const reading = Promise.all([
      ...roots.map((root) => readAlong(root, isOver)),
      ...(['rpm', 'apk'] as const).map((format) => watchIndex(format, isOver)),
    ])
    await Promise.all([uploading, reading])
    figures.seconds = Math.round((Date.now() - started) / 1000)

    // No package is lost.
    for (const root of roots) {
      expectClean(await root.update())
      // apt-cache dumpavail shows only the newest version.
      const known = new Set(
        ((await root.list('_Packages')) ?? '')
          .split('\n\n')
          .map((stanza) => `${/^Package: (.*)$/m.exec(stanza)?.[1]} ${/^Version: (.*)$/m.exec(stanza)?.[1]}`),
      )
      for (const id of stable.apt.keys()) expect(known).toContain(id)
      expect([...known].filter((id) => id.startsWith('soak-'))).toHaveLength(stable.apt.size)
    }
    for (const format of ['rpm', 'apk'] as const) {
      const { packages } = await readRepository(readHttp(service), CODENAMES[format], key)
      expect([...packages.keys()].filter((id) => id.startsWith('soak-')).sort()).toEqual(
        idsOf(format, stable[format].keys()).sort(),
      )
    }
    console.log('soak', figures)
    expect(figures.updates).toBeGreaterThanOrEqual(CLIENTS)
    expect(figures.downloads).toBeGreaterThanOrEqual(CLIENTS)
    expect(await service.stop()).toBe(0)
    expect((await examine({ ...installation, collected: true })).faults).toEqual([])
  },
  OPERATIONS * 5_000 + 1_800_000,
)

async function bring(format: Format, name: string, more: () => boolean): Promise<void> {
  const mine: string[] = []
  for (let n = 0; more(); n++) {
    if (n % 4 === 3) {
      const id = mine.shift() as string
      stable[format].delete(id)
      const { status, body } = await service.call('DELETE', `/artifacts/${id.replace(' ', '/')}`)
      expect([id, status, body.code]).toEqual([id, 200, undefined])
      figures.deletes[format]++
      continue
    }
    const version = `1.${n}${{ apt: '', rpm: '-1', apk: '-r0' }[format]}`
    const file = await buildPackage(format, { name, version })
    const before = performance.now()
    const { status, body } = await service.upload(file, 'package', { distribution: CODENAMES[format] })
    expect([name, version, status, body.status]).toEqual([name, version, 201, 'published'])
    figures.slowestPublishMs = Math.max(figures.slowestPublishMs, Math.round(performance.now() - before))
    mine.push(`${name} ${version}`)
    stable[format].set(`${name} ${version}`, createHash('sha256').update(file).digest('hex'))
    figures.publishes[format]++
  }
}

async function readAlong(root: AptRoot, isOver: () => boolean): Promise<void> {
  do {
    const published = new Map(stable.apt)
    expectClean(await root.update())
    figures.updates++
    // Packages from before the update that still exist can be downloaded with the index of that update.
    const wanted = [...published].filter(([id]) => stable.apt.has(id))
    for (const [id, sha256] of wanted.slice(-2)) {
      const [name, version] = id.split(' ') as [string, string]
      const file = await root.download(name, version)
      expect([id, createHash('sha256').update(file).digest('hex')]).toEqual([id, sha256])
      figures.downloads++
    }
  } while (!isOver())
}

/** Replaces a real client: checks that every index is complete and lists the packages published before it was read. */
async function watchIndex(format: 'rpm' | 'apk', isOver: () => boolean): Promise<void> {
  const seen = new Set<string>()
  let newest = 0
  do {
    const published = [...stable[format].keys()]
    const { date, packages } = await readRepository(readHttp(service), CODENAMES[format], key, { quiet: false, seen })
    expect(date).toBeGreaterThanOrEqual(newest)
    newest = date
    for (const id of idsOf(
      format,
      published.filter((id) => stable[format].has(id)),
    ))
      expect([...packages.keys()]).toContain(id)
    figures.reads[format]++
    await new Promise((resolve) => setTimeout(resolve, 100))
  } while (!isOver())
}

function idsOf(format: Format, ids: Iterable<string>): string[] {
  return [...ids].map((id) => `${id} ${archOf(format, {})}`)
}

function expectClean({ code, text }: { code: number; text: string }): void {
  expect(text).not.toMatch(/^(W|E|Err):/m)
  expect(code).toBe(0)
}
