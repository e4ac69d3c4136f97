// Kills a service at a checkpoint of an operation, starts it again, and examines the remaining state.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createSemaphore } from '../../src/kernel/semaphore.ts'
import { startFakeClamd, type FakeClamd } from '../fakes/clamd.ts'
import { startObjectServer, type ObjectServer } from '../pool/object-server.ts'
import { startService, type Service } from '../service.ts'
import { createInstallations, type Engine, type Installation, type Installations } from './installations.ts'
import { readRepository, readDisk, readHttp, type Repository, type Read, type ReadOptions } from './read-repository.ts'
import type { Operation } from './operations.ts'
import type { Format } from './packages.ts'
import { examine } from './state.ts'
import { storedOf } from './stored.ts'

const CODENAMES: Record<Format, string[]> = {
  apt: ['jammy', 'noble', 'focal', 'bookworm'],
  rpm: ['rocky9', 'fedora'],
  apk: ['alpine3.20', 'alpine3.21'],
}
/** A process that lives longer than this never reaches its checkpoint. */
const REACH_MS = 600_000
/** One per processor, because starting processes takes most of the time. */
const CASES_AT_ONCE = 2

export interface Death {
  operation: Operation
  checkpoint: Operation['passes'][number][0]
  /** the state after a restart */
  then: Operation['passes'][number][1]
}

export interface Place {
  engine: Engine
  format: Format
  /** packages are kept in an object store */
  inObjects?: boolean
}

/** Adds a test for each death; they run side by side. */
export function testDeaths({ engine, format, inObjects = false }: Place, deaths: readonly Death[]): void {
  const slots = createSemaphore(CASES_AT_ONCE)
  let objects: ObjectServer | undefined
  let installations: Installations
  let stock: string[]
  let clamd: FakeClamd

  beforeAll(async () => {
    clamd = await startFakeClamd()
    if (inObjects) objects = await startObjectServer()
    installations = await createInstallations(engine, format, objects ? { objects } : {})
    const installation = await installations.copy()
    const state = await examine(installation)
    expect(state.faults).toEqual([])
    stock = state.records
    await installation.remove()
  })
  afterAll(async () => {
    await installations?.remove()
    await objects?.remove()
    await clamd?.close()
  })

  for (const death of deaths)
    it.concurrent(`${death.checkpoint} of ${death.operation.name}`, () =>
      slots(() => endAll((started) => dieAndReturn(started, death))),
    )

  async function dieAndReturn(started: Service[], { operation, checkpoint, then }: Death): Promise<void> {
    const installation = await installations.copy(operation)
    const stored = storedOf(installation)
    const disk = readDisk(installation.reposDir, stored.store)
    const reader = await createReader(installation, CODENAMES[format])
    const steps = await operation.steps()
    const last = steps.at(-1) as (typeof steps)[number]
    const before = steps
      .slice(0, -1)
      .reduce((records, step) => step.effect(records, stock), operation.emptyDatabase ? [] : stock)
    const after = last.effect(before, stock)
    const start = async (env: Record<string, string> = {}, raw = false) => {
      const service = await startService({
        ...installation,
        ...(operation.emptyDatabase ? { token: undefined } : {}),
        env: { ...installation.env, ...(operation.antivirus ? clamdAt(clamd) : {}), ...env },
        raw,
      })
      started.push(service)
      return service
    }

    // Kill it at the checkpoint.
    const first = await start({ GATEHOUSE_DIE_AT: operation.diesFirstAt ?? checkpoint })
    for (const step of steps) {
      const answer = await step.ask(first).catch(() => null)
      if (step === last) continue
      expect([200, 201]).toContain(answer?.status)
    }
    // Reading the audit log writes it. Otherwise it is written every 15 s.
    await first.call('GET', '/artifacts/audit/logs').catch(() => null)
    await killed(first, operation.diesFirstAt ?? checkpoint)
    await reader.all(disk, [before, after])
    if (operation.diesFirstAt) {
      await killed(await start({ GATEHOUSE_DIE_AT: checkpoint }, true), checkpoint)
      await reader.all(disk, [before, after])
    }

    // Restart it twice.
    for (let restart = 1; restart <= 2; restart++) {
      const service = await start()
      const quiet = !operation.isContinued
      if (then !== 'partly') await reader.all(readHttp(service), [then === 'before' ? before : after], { quiet })
      if (restart === 1) {
        await service.kill()
        // Opening the embedded database takes a second, so it is examined only at the end.
        if (engine === 'postgres' && then !== 'partly') {
          const state = await examine({ ...installation, killed: true })
          expect(state.faults).toEqual([])
          expect(state.records).toEqual(then === 'before' ? before : after)
        }
        continue
      }
      const { status } = await last.ask(service)
      if (then === 'after') expect(status).toBe(last.again)
      else expect([200, 201]).toContain(status)
      await reader.all(readHttp(service), [after])
      expect(await service.stop()).toBe(0)
    }
    const state = await examine({ ...installation, collected: true })
    expect(state.faults).toEqual([])
    expect(state.records).toEqual(after)
    await reader.all(disk, [after])
    stored.close()
    await installation.remove()
  }
}

/** Kills the processes that a case started, also when it fails. */
async function endAll(work: (started: Service[]) => Promise<void>): Promise<void> {
  const started: Service[] = []
  try {
    await work(started)
  } finally {
    for (const service of started) await service.kill()
  }
}

function clamdAt({ address }: FakeClamd): Record<string, string> {
  return { CLAMAV_HOST: address.host, CLAMAV_PORT: String(address.port) }
}

async function killed(service: Service, checkpoint: string): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${checkpoint} was never reached`)), REACH_MS)
  })
  try {
    expect(await Promise.race([service.exited, late])).toEqual({ code: null, signal: 'SIGKILL' })
  } catch (error) {
    await service.kill()
    throw error
  } finally {
    clearTimeout(timer)
  }
}

/** Reads every distribution and checks that no Release is older than one read before. */
async function createReader(installation: Installation, codenames: string[]) {
  const publicKey = await readFile(join(installation.reposDir, 'keys', 'gpg.key'), 'utf8')
  const newest = new Map<string, number>()
  return {
    /** @param allowed lists of records, one of which each distribution must offer */
    async all(read: Read, allowed: string[][], options: ReadOptions = {}): Promise<void> {
      for (const codename of codenames) {
        const seen = await readRepository(read, codename, publicKey, options)
        expect(seen.date).toBeGreaterThanOrEqual(newest.get(codename) ?? 0)
        newest.set(codename, seen.date)
        expect(allowed.map((records) => offeredBy(records, codename))).toContainEqual(linesOf(seen))
      }
    },
  }
}

function offeredBy(records: string[], codename: string): string[] {
  const published = records
    .map((record) => record.split(' '))
    .filter(([distribution, , , , status]) => distribution === codename && status === 'published')
  return published.map(([, name, version, arch]) => `${name} ${version} ${arch}`).sort()
}

function linesOf({ packages }: Repository): string[] {
  return [...packages.keys()].sort()
}
