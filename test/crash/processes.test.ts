// A service of several processes: what package clients notice when some of them end, restart or are replaced.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createAptRoot, type AptRoot } from '../clients/apt-root.ts'
import { dnf } from '../clients/dnf-root.ts'
import type { RpmRoot } from '../clients/rpm-root.ts'
import { need } from '../need.ts'
import { freePort } from '../ports.ts'
import { buildApk } from '../samples/apk.ts'
import { buildDeb } from '../samples/deb.ts'
import { buildRpm } from '../samples/rpm.ts'
import { removeTemporary, startService, type Service } from '../service.ts'
import { childrenOf } from './children.ts'
import { bindMount } from './mounts.ts'
import { readHttp, readRepository } from './read-repository.ts'
import { waitFor } from './state.ts'

const MAIN = join(import.meta.dirname, '../../dist/main.js')
const APK = 'alpine3.20'

/** A log line. */
interface Entry {
  msg: string
  level: string
  ports: { apt: number; rpm: number }
}

let service: Service
let work: string
let publicKey: string
const machines: { apt: AptRoot; dnf: RpmRoot }[] = []

beforeAll(async () => {
  need(...dnf.needs)
  work = await mkdtemp(join(tmpdir(), 'processes-'))
  service = await startService({
    env: { REPO_FORMAT: 'all', SERVE_PROCESSES: '2', BACKEND_PORT: String(await freePort()) },
  })
  publicKey = await readFile(join(service.reposDir, 'keys', 'gpg.key'), 'utf8')
  await publish('first')
})
afterAll(async () => {
  await Promise.all(machines.flatMap(({ apt, dnf }) => [apt.remove(), dnf.dispose()]))
  await service?.kill()
  await removeTemporary()
  if (work) await rm(work, { recursive: true, force: true })
})

/** Publishes a package of each format. */
async function publish(name: string): Promise<void> {
  for (const [file, filename, distribution] of [
    [await buildDeb({ name }), 'a.deb', 'jammy'],
    [await buildRpm({ name }), 'a.rpm', 'almalinux9'],
    [buildApk({ name }), 'a.apk', APK],
  ] as const) {
    const { body } = await service.upload(file, filename, { distribution })
    expect(body, JSON.stringify(body)).toMatchObject({ status: 'published' })
  }
}

async function machine(at: Pick<Service, 'apt' | 'rpm'>) {
  const url = `${at.rpm}/repos/almalinux9/x86_64/`
  const made = {
    apt: await createAptRoot({ url: `${at.apt}/repos`, suite: 'jammy', key: publicKey }),
    dnf: await dnf.createRoot({ url, key: publicKey }),
  }
  machines.push(made)
  return made
}

/** Every client updates once and sees these packages. Throws any client's error. */
async function updates(at: Pick<Service, 'apt' | 'rpm'>, names: string[] = []) {
  const { apt, dnf } = await machine(at)
  const must = ({ code, text }: { code: number; text: string }) => {
    if (code !== 0) throw new Error(text)
  }
  return {
    apt: async () => {
      must(await apt.update())
      for (const name of names) expect(await apt.versions(name)).toEqual(['1.0-1'])
    },
    dnf: async () => {
      must(await dnf.refresh())
      for (const name of names) expect(await dnf.versions(name)).toEqual(['1.0-1'])
    },
    apk: async () => {
      const { packages } = await readRepository(readHttp(at, request), APK, publicKey)
      const found = [...packages.keys()].map((id) => id.split(' ')[0])
      for (const name of names) expect(found).toContain(name)
    },
  }
}

const children = (role: 'api' | 'listener') => childrenOf(service.process, role)

const apiReady = (but: number[]) =>
  waitFor('a new API process', async () => {
    const [pid] = await children('api')
    if (pid === undefined || but.includes(pid)) return false
    const answer = await fetch(`${service.api}/health/ready`).catch(() => null)
    return answer?.status === 200
  })

describe('package clients that update all the time', () => {
  it('notice nothing when the API is killed, restarted, and every process is replaced', async () => {
    let isOver = false
    const rounds: Record<string, number> = {}
    const clients = Object.entries(await updates(service, ['first'])).map(async ([name, update]) => {
      do {
        await update()
        rounds[name] = (rounds[name] ?? 0) + 1
      } while (!isOver)
    })
    const events = (async () => {
      const killed = await children('api')
      process.kill(killed[0] as number, 'SIGKILL')
      await apiReady(killed)
      await publish('after-kill')

      const stopped = await children('api')
      process.kill(stopped[0] as number, 'SIGTERM')
      await apiReady([...killed, ...stopped])
      await publish('after-stop')

      const before = [...(await children('api')), ...(await children('listener'))]
      service.process.kill('SIGHUP')
      await apiReady(before)
      await waitFor('new listeners', async () => {
        const now = await children('listener')
        return now.length === 2 && now.every((pid) => !before.includes(pid))
      })
      await publish('after-replacement')
    })().finally(() => (isOver = true))
    await Promise.all([events, ...clients])
    for (const name of ['apt', 'dnf', 'apk'])
      expect([name, rounds[name]]).toEqual([name, expect.toSatisfy((n) => n >= 2)])
    const last = await updates(service, ['first', 'after-kill', 'after-stop', 'after-replacement'])
    await Promise.all([last.apt(), last.dnf(), last.apk()])
  })
})

it('a listener that is killed leaves the others serving, and another takes its place', async () => {
  const before = await children('listener')
  const killed = before[0] as number
  // Connections passed to it before its parent noticed are lost, as with every killed server.
  const isReport = (entry: unknown) => String((entry as { process?: string }).process).startsWith('listener')
  const reports = service.log.filter(isReport).length
  process.kill(killed, 'SIGKILL')
  await waitFor('the report', async () => service.log.filter(isReport).length > reports)
  // Each request has a separate connection, as those of package clients.
  for (let n = 0; n < 20; n++) expect((await request(`${service.apt}/repos/gpg.key`)).status).toBe(200)
  await waitFor('another listener', async () => (await children('listener')).length === 2)
  expect(await children('listener')).toContain(before[1])
})

it('listeners see no secret of the service', async () => {
  const [pid] = await children('listener')
  const environment = (await readFile(`/proc/${pid}/environ`, 'utf8')).split('\0')
  expect(environment).toContain(`REPOS_DIR=${service.reposDir}`)
  expect(environment.filter((line) => /^(JWT_SECRET_KEY|WEBHOOK_SECRET|DATABASE_URL|ADMIN_\w+)=./.test(line))).toEqual(
    [],
  )
})

it('a start that fails ends the service with the exit code and the sentence of the API', async () => {
  const reposDir = join(work, 'failing', 'repos')
  await mkdir(reposDir, { recursive: true })
  await writeFile(join(reposDir, 'settings.json'), 'damaged')
  const failing = await startService({ raw: true, reposDir, env: { SERVE_PROCESSES: '2' } })
  expect(await failing.exited).toEqual({ code: 1, signal: null })
  expect(failing.log.filter((line) => typeof line === 'string').join('\n')).toMatch(/^cannot start: .*settings\.json/m)
})

it('serving alone needs no database and no secret, and only reads REPOS_DIR', async () => {
  expect(await service.stop()).toBe(0)
  const mount = bindMount(service.reposDir)
  let alone: ChildProcess | null = null
  try {
    mount.readOnly()
    alone = spawn(process.execPath, [MAIN, 'serve'], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: {
        PATH: process.env['PATH'],
        ...{ ENV: 'production', REPO_FORMAT: 'all', SERVE_PROCESSES: '2', BIND_HOST: '127.0.0.1' },
        ...{ REPOS_DIR: service.reposDir, ACCESS_LOG_DIR: join(work, 'logs'), APT_PORT: '0', RPM_REPO_PORT: '0' },
      },
    })
    const exited = once(alone, 'exit')
    let errors = ''
    const ports = await new Promise<{ apt: number; rpm: number }>((resolve, reject) => {
      createInterface({ input: alone!.stdout! }).on('line', (line) => {
        const { msg, level, ports } = JSON.parse(line) as Entry
        if (level === 'error') errors += `${line}\n`
        if (msg === 'listening') resolve(ports)
      })
      void exited.then(() => reject(new Error('it ended before it listened')))
    })
    const at = { apt: `http://127.0.0.1:${ports.apt}`, rpm: `http://127.0.0.1:${ports.rpm}` }
    const { apt, dnf, apk } = await updates(at, ['first'])
    await Promise.all([apt(), dnf(), apk()])
    expect(await (await fetch(`${at.rpm}/repos/almalinux9.sh`)).text()).toContain(at.rpm)
    alone.kill('SIGTERM')
    expect(await exited).toEqual([0, null])
    expect(errors).toBe('')
    expect(await readFile(join(work, 'logs', 'access-rpm.log'), 'latin1')).toContain('repomd.xml.asc')
  } finally {
    alone?.kill('SIGKILL')
    mount.remove()
  }
})

/** A request on a separate connection: on one that the server closes meanwhile, fetch fails where package clients retry. */
function request(url: string): Promise<{ status: number; arrayBuffer(): Promise<ArrayBuffer> }> {
  return new Promise((resolve, reject) => {
    const sent = get(url, { agent: false }, (answer) => {
      const pieces: Buffer[] = []
      answer.on('data', (piece: Buffer) => pieces.push(piece))
      answer.on('error', reject)
      answer.on('end', () =>
        resolve({
          status: answer.statusCode ?? 0,
          arrayBuffer: async () => new Uint8Array(Buffer.concat(pieces)).buffer,
        }),
      )
    })
    sent.on('error', reject)
  })
}
