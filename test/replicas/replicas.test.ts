// Two services on one PostgreSQL and one directory: races end correctly, and a dead leader is replaced.
import { createHash } from 'node:crypto'
import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { createInstallations, type Installation, type Installations } from '../crash/installations.ts'
import { readRepository, readDisk, readHttp, type Read } from '../crash/read-repository.ts'
import { examine, exists, waitFor } from '../crash/state.ts'
import { buildDeb } from '../samples/deb.ts'
import { startService, type Service } from '../service.ts'

let installations: Installations
let installation: Installation
let services: Service[]
let publicKey: string
beforeAll(async () => void (installations = await createInstallations('postgres')))
afterAll(() => installations?.remove())
beforeEach(() => start())
afterEach(end)

async function start(options?: Parameters<Installations['copy']>[0]): Promise<void> {
  installation = await installations.copy(options)
  publicKey = await readFile(join(installation.reposDir, 'keys', 'gpg.key'), 'utf8')
  // One after the other, so that the first is the leader.
  services = []
  for (let n = 0; n < 2; n++) services.push(await startService(installation))
}

async function end(): Promise<void> {
  for (const service of services) await service.kill()
  await installation.remove()
}

const [LEADER, OTHER] = [0, 1]
const at = (index: number) => services[index] as Service
const upload = (service: Service, file: Buffer, distribution = 'jammy') =>
  service.upload(file, 'a.deb', { distribution })
const offered = async (read: Read, codename = 'jammy') => [
  ...(await readRepository(read, codename, publicKey, { quiet: false })).packages.keys(),
]
const isLeader = async (service: Service) =>
  (await service.call('GET', '/health')).body.checks.info.ha.is_leader as boolean

/** Stops both, starts one that recovers, stops it and examines the result. */
async function expectConsistentState(): Promise<string[]> {
  for (const service of services)
    if (service.process.exitCode === null && service.process.signalCode === null) expect(await service.stop()).toBe(0)
  const last = await startService(installation)
  expect(await last.stop()).toBe(0)
  const state = await examine({ ...installation, collected: true })
  expect(state.faults).toEqual([])
  return state.records
}

/** Reads the tree repeatedly until stopped. @returns the number of reads */
function watch(codename: string): { stop(): Promise<number> } {
  let running = true as boolean
  const reading = (async () => {
    const seen = new Set<string>()
    let newest = 0
    let reads = 0
    while (running) {
      const { date } = await readRepository(readDisk(installation.reposDir), codename, publicKey, {
        quiet: false,
        seen,
      })
      expect(date).toBeGreaterThanOrEqual(newest)
      newest = date
      reads++
    }
    return reads
  })()
  reading.catch(() => {})
  return {
    stop() {
      running = false
      return reading
    },
  }
}

it('uploads to both replicas into one distribution are all published, and Release dates never decrease', async () => {
  const watching = watch('jammy')
  const names: string[] = []
  await Promise.all(
    services.flatMap((service, which) =>
      [0, 1].map(async (uploader) => {
        for (let n = 0; n < 12; n++) {
          const name = `race-${which}-${uploader}-${n}`
          const { status, body } = await upload(service, await buildDeb({ name, version: '1.0' }))
          expect([name, status, body.status]).toEqual([name, 201, 'published'])
          // A published upload is visible through both replicas.
          expect(await offered(readHttp(at(1 - which)))).toContain(`${name} 1.0 amd64`)
          names.push(name)
        }
      }),
    ),
  )
  expect(await watching.stop()).toBeGreaterThan(2)
  const all = await offered(readHttp(at(OTHER)))
  for (const name of names) expect(all).toContain(`${name} 1.0 amd64`)
  await expectConsistentState()
})

it('one of several simultaneous uploads of the same bytes is accepted, the others exist already', async () => {
  for (let round = 0; round < 4; round++) {
    const file = await buildDeb({ name: 'same', version: `1.${round}` })
    const answers = await Promise.all([0, 1, 0, 1, 0, 1].map((which) => upload(at(which), file)))
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409, 409])
    expect(new Set(answers.filter(({ status }) => status === 409).map(({ body }) => body.code))).toEqual(
      new Set(['already_exists']),
    )
  }
  await expectConsistentState()
})

it('one of several simultaneous uploads of different bytes under one name is accepted, and the others leave no bytes', async () => {
  const files = await Promise.all(
    [0, 1, 2, 3].map((n) => buildDeb({ name: 'contested', version: '1.0', files: { 'usr/share/n': String(n) } })),
  )
  const answers = await Promise.all(files.map((file, n) => upload(at(n % 2), file)))
  expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409])
  expect(new Set(answers.filter(({ status }) => status === 409).map(({ body }) => body.code))).toEqual(
    new Set(['duplicate_conflict']),
  )
  await expectConsistentState()
})

it.each([
  // Publications that named it keep its bytes, so no deletion removes them.
  ['published', undefined],
  ['held', 'hold'],
] as const)(
  'deletions that race with uploads of the same %s bytes never leave a record without its file',
  async (_, settings) => {
    if (settings) {
      await end()
      await start({ settings })
    }
    const file = await buildDeb({ name: 'again', version: '1.0' })
    const sha256 = createHash('sha256').update(file).digest('hex')
    const watching = watch('focal')
    let uploaded = 0
    let deleted = 0
    const uploading = Promise.all(
      ['jammy', 'noble', 'focal'].map(async (distribution, n) => {
        for (let round = 0; round < 40; round++) {
          const { status } = await upload(at((n + round) % 2), file, distribution)
          expect([201, 202, 409]).toContain(status)
          if (status < 300) uploaded++
        }
      }),
    )
    let over = false
    const deleting = Promise.all(
      [0, 1].map(async (which) => {
        while (!over) {
          const { status } = await at(which).call(
            'DELETE',
            `/artifacts/again?distribution=${['jammy', 'noble', 'focal'][Math.floor(Math.random() * 3)]}`,
          )
          // 409: the other replica deleted it between the lookup and the deletion.
          expect([200, 404, 409]).toContain(status)
          if (status === 200) deleted++
        }
      }),
    )
    await uploading.finally(() => (over = true))
    await deleting
    await watching.stop()
    expect(uploaded).toBeGreaterThan(3)
    expect(deleted).toBeGreaterThan(0)
    const records = await expectConsistentState()
    expect(await exists(join(installation.reposDir, 'pool', 'deb', sha256.slice(0, 2), sha256))).toBe(
      settings === undefined || records.some((record) => record.endsWith(sha256)),
    )
  },
)

it('promotions on both replicas that race with deletions in source and target leave each record with its file', async () => {
  const packages = ['one', 'two', 'three']
  const files = await Promise.all(packages.map((name) => buildDeb({ name, version: '1.0' })))
  const sources = ['jammy', 'focal']
  const watching = watch('noble')
  let promoted = 0
  let deleted = 0
  for (let round = 0; round < 8; round++) {
    await Promise.all(sources.flatMap((codename, which) => files.map((file) => upload(at(which), file, codename))))
    const promoting = packages.flatMap((name) =>
      sources.map(async (from_dist, which) => {
        const body = { package: name, from_dist, to_dist: 'noble' }
        const { status } = await at((which + round) % 2).call('POST', '/distributions/promote', body)
        // 404 and 409: deleted, or promoted by the other replica, meanwhile.
        expect([200, 404, 409]).toContain(status)
        if (status === 200) promoted++
      }),
    )
    const deleting = packages.map(async (name, n) => {
      const codename = ['noble', 'jammy', 'focal'][(n + round) % 3]
      const { status } = await at((n + round) % 2).call('DELETE', `/artifacts/${name}?distribution=${codename}`)
      expect([200, 404, 409]).toContain(status)
      if (status === 200) deleted++
    })
    await Promise.all([...promoting, ...deleting])
  }
  await watching.stop()
  expect(promoted).toBeGreaterThan(8)
  expect(deleted).toBeGreaterThan(0)
  await expectConsistentState()
})

it('the other replica leads after the leader is killed, and finishes its work', async () => {
  expect([await isLeader(at(LEADER)), await isLeader(at(OTHER))]).toEqual([true, false])
  expect((await at(OTHER).call('POST', '/import/sync')).body.code).toBe('passive_replica')

  // A leader dies with an upload that is settled but not published, and with one that was just received.
  await at(LEADER).stop()
  await waitFor('the other to lead', () => isLeader(at(OTHER)))
  services[LEADER] = await startService({ ...installation, env: { GATEHOUSE_DIE_AT: 'settled' } })
  await at(OTHER).stop()
  await waitFor('the first to lead', () => isLeader(at(LEADER)))
  services[OTHER] = await startService(installation)
  const left = await buildDeb({ name: 'left', version: '1.0' })
  await expect(upload(at(LEADER), left)).rejects.toThrow()
  expect(await at(LEADER).exited).toEqual({ code: null, signal: 'SIGKILL' })

  await waitFor('the other to lead', () => isLeader(at(OTHER)))
  await waitFor('the upload to be published', async () =>
    (await offered(readHttp(at(OTHER)))).includes('left 1.0 amd64'),
  )
  expect((await upload(at(OTHER), left)).body.code).toBe('already_exists')
  await waitFor(
    'the removal of the staging files of the dead leader',
    async () => (await readdir(join(installation.reposDir, 'staging', 'incoming'))).length === 1,
  )
  expect((await at(OTHER).call('POST', '/distributions/init')).status).toBe(200)
  await expectConsistentState()
})

it('audit entries of both replicas form one chain, even when the leader dies while writing it', async () => {
  await at(LEADER).kill()
  services[LEADER] = await startService({ ...installation, env: { GATEHOUSE_DIE_AT: 'audit-appended:2' } })
  await at(OTHER).stop()
  await waitFor('the first to lead', () => isLeader(at(LEADER)))
  services[OTHER] = await startService(installation)
  for (let n = 0; n < 3; n++) {
    await Promise.all(
      services.map(async (service, which) =>
        upload(service, await buildDeb({ name: `audited-${which}-${n}`, version: '1.0' })).catch(() => null),
      ),
    )
    await Promise.all(services.map((service) => service.call('GET', '/artifacts/audit/logs').catch(() => null)))
  }
  expect(await at(LEADER).exited).toEqual({ code: null, signal: 'SIGKILL' })
  await waitFor('the other to lead', () => isLeader(at(OTHER)))
  expect((await at(OTHER).call('GET', '/artifacts/audit/logs')).status).toBe(200)
  await expectConsistentState()
})

it('records restored by sync-index on one replica are offered by the other', async () => {
  // The other keeps the blocks of a distribution in memory.
  expect((await upload(at(OTHER), await buildDeb({ name: 'warm', version: '1.0' }))).status).toBe(201)
  const { postgres } = installations
  const database = new URL(installation.databaseUrl).pathname.slice(1)
  // As after the restore of an older dump: the record is missing, its manifest and bytes exist.
  await postgres?.query(
    database,
    `with gone as (delete from packages where name = 'beta' and distribution = 'jammy' returning id, sha256),
      never as (delete from offers where package_id in (select id from gone))
    update distributions set published_count = published_count - 1,
      size_bytes = size_bytes - (select sum(size_bytes) from gone join blobs using (sha256)) where codename = 'jammy'`,
  )
  await postgres?.query(database, `delete from artifacts where name = 'beta'`)
  const { body } = await at(LEADER).call('POST', '/artifacts/admin/sync-index')
  expect(body).toMatchObject({ status: 'ok', orphans: 0, missing_files: 0 })
  expect((await upload(at(OTHER), await buildDeb({ name: 'later', version: '1.0' }))).status).toBe(201)
  expect(await offered(readHttp(at(OTHER)))).toEqual(
    expect.arrayContaining(['beta 1.0 all', 'warm 1.0 amd64', 'later 1.0 amd64']),
  )
  await expectConsistentState()
})

it('a task of a replica that is killed is finished by the other, and followed through any of them', async () => {
  const { postgres } = installations
  const database = new URL(installation.databaseUrl).pathname.slice(1)
  await at(LEADER).stop()
  services[LEADER] = await startService({ ...installation, env: { GATEHOUSE_DIE_AT: 'task-saved:1' } })
  await at(OTHER).stop()
  await waitFor('the first to lead', () => isLeader(at(LEADER)))
  services[OTHER] = await startService(installation)
  // Without the tables of packages there is something to restore.
  const before = (await at(OTHER).call('GET', '/artifacts/?per_page=1')).body.total as number
  await postgres?.query(
    database,
    `truncate packages, blobs, offers, offer_entries, offer_entry_pieces, publications, package_counts, finding_counts, artifacts cascade`,
  )
  // The replica that gets the request starts the task; the other one looks for tasks every three seconds.
  await at(LEADER)
    .call('POST', '/artifacts/admin/sync-index')
    .catch(() => null)
  const task = await waitFor('the end of the task', async () => {
    const [one] = (await at(OTHER).call('GET', '/tasks/?kind=sync_index')).body.items
    return ['done', 'failed'].includes(one?.state) && one
  })
  expect(task).toMatchObject({ state: 'done', result: { orphans: 0, missing_files: 0 } })
  const { body: stream } = await at(OTHER).call('GET', `/tasks/${task.id}/stream`)
  expect(stream).toContain(`"state":"done"`)
  expect((await at(OTHER).call('GET', '/artifacts/?per_page=1')).body.total).toBe(before)
})
