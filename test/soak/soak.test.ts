// Publishes and deletions without a pause while real apt clients update and download: no update fails, no byte is wrong,
// nothing is lost. About a minute; the long form makes so many operations as it is told:
//   SOAK_OPERATIONS=500 npx vitest run --config vitest.suites.config.ts test/soak
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createAptRoot, type AptRoot } from '../clients/apt-root.ts'
import { makeHouses, type House, type Houses } from '../crash/houses.ts'
import { examine } from '../crash/state.ts'
import { need } from '../need.ts'
import { buildDeb } from '../samples/deb.ts'
import { startService, type Service } from '../service.ts'

const OPERATIONS = Number(process.env['SOAK_OPERATIONS'] ?? 0)
/** Without a number of operations: as many as fit. */
const SHORT_MS = 45_000
const UPLOADERS = 4
const CLIENTS = 3
const CODENAME = 'jammy'

let houses: Houses
let house: House
let service: Service
const roots: AptRoot[] = []
beforeAll(async () => {
  need('apt')
  houses = await makeHouses('postgres')
  house = await houses.copy()
  service = await startService(house)
  const key = await readFile(join(house.reposDir, 'keys', 'gpg.key'), 'utf8')
  for (let n = 0; n < CLIENTS; n++) roots.push(await createAptRoot({ url: `${service.apt}/repos`, suite: CODENAME, key }))
})
afterAll(async () => {
  await service.kill()
  for (const root of roots) await root.remove()
  await houses.remove()
})

/** What uploaders were told: digest by `name version`; a package is stable while nobody is about to delete it. */
const stable = new Map<string, string>()
const figures = { publishes: 0, deletes: 0, updates: 0, downloads: 0, slowestPublishMs: 0 }

it(
  'publishing and deleting never show a client anything broken',
  async () => {
    const until = OPERATIONS > 0 ? Infinity : Date.now() + SHORT_MS
    let left = OPERATIONS > 0 ? OPERATIONS : Infinity
    const more = () => left-- > 0 && Date.now() < until
    let over = false
    const uploading = Promise.all(Array.from({ length: UPLOADERS }, (_, n) => bring(`soak-${n}`, more))).finally(() => (over = true))
    const reading = Promise.all(roots.map((root) => readAlong(root, () => over)))
    await uploading
    await reading

    // Nothing was lost.
    for (const root of roots) {
      expectClean(await root.update())
      const known = new Set((await root.run('apt-cache', 'dumpavail')).text.split('\n\n').map((stanza) => `${/^Package: (.*)$/m.exec(stanza)?.[1]} ${/^Version: (.*)$/m.exec(stanza)?.[1]}`))
      for (const id of stable.keys()) expect(known).toContain(id)
      expect([...known].filter((id) => id.startsWith('soak-'))).toHaveLength(stable.size)
    }
    console.log('soak', figures)
    expect(figures.updates).toBeGreaterThanOrEqual(CLIENTS)
    expect(figures.downloads).toBeGreaterThanOrEqual(CLIENTS)
    expect(await service.stop()).toBe(0)
    expect((await examine({ ...house, collected: true })).faults).toEqual([])
  },
  OPERATIONS > 0 ? OPERATIONS * 5_000 + 300_000 : 300_000,
)

async function bring(name: string, more: () => boolean): Promise<void> {
  const mine: string[] = []
  for (let n = 0; more(); n++) {
    if (n % 4 === 3) {
      const id = mine.shift() as string
      stable.delete(id)
      const { status, body } = await service.call('DELETE', `/artifacts/${id.replace(' ', '/')}`)
      expect([id, status, body.code]).toEqual([id, 200, undefined])
      figures.deletes++
      continue
    }
    const version = `1.${n}`
    const file = await buildDeb({ name, version })
    const before = performance.now()
    const { status, body } = await service.upload(file, 'a.deb', { distribution: CODENAME })
    expect([name, version, status, body.status]).toEqual([name, version, 201, 'published'])
    figures.slowestPublishMs = Math.max(figures.slowestPublishMs, Math.round(performance.now() - before))
    mine.push(`${name} ${version}`)
    stable.set(`${name} ${version}`, createHash('sha256').update(file).digest('hex'))
    figures.publishes++
  }
}

async function readAlong(root: AptRoot, isOver: () => boolean): Promise<void> {
  do {
    const promised = new Map(stable)
    expectClean(await root.update())
    figures.updates++
    // Whatever was there before the update, and still is, can be had from the index of that update.
    const wanted = [...promised].filter(([id]) => stable.has(id))
    for (const [id, sha256] of wanted.slice(-2)) {
      const [name, version] = id.split(' ') as [string, string]
      const file = await root.download(name, version)
      expect([id, createHash('sha256').update(file).digest('hex')]).toEqual([id, sha256])
      figures.downloads++
    }
  } while (!isOver())
}

function expectClean({ code, text }: { code: number; text: string }): void {
  expect(text).not.toMatch(/^(W|E|Err):/m)
  expect(code).toBe(0)
}
