// Shared by the cases of the command: a service with an antivirus engine and advisories, homes, tokens, packages.
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eicar, startFakeClamd } from '../fakes/clamd.ts'
import { readAdvisories } from '../gate/read-advisories.ts'
import { freePort } from '../ports.ts'
import { buildDeb, type SampleDeb } from '../samples/deb.ts'
import { writeAdvisories } from '../samples/osv.ts'
import { ADMIN, startService, type Service, type ServiceOptions } from '../service.ts'
import { CONFIG, newHome, type Home } from './gatehouse.ts'

export interface Stage {
  service: Service
  /** starts the service again on the same data and port */
  restart(): Promise<void>
  homes: Home[]
  /** texts that no run may print */
  secrets: string[]
  /** a home that is signed in by environment, as in CI, with a separate token */
  home(role: string): Promise<Home>
  /** a home without credentials */
  stranger(env?: Record<string, string>): Promise<Home>
  close(): Promise<void>
}

export const HELD = 'CVE-2026-2001'

export async function startStage(): Promise<Stage> {
  const advisories = await mkdtemp(join(tmpdir(), 'cli-advisories-'))
  const about = { ecosystem: 'Ubuntu:24.04:LTS', fixed: null, severity: 'high' as const, cve: HELD }
  const held = [
    'held',
    'held-wait',
    'held-reject',
    'held-cut',
    'held-poll',
    'held-kill',
    'held-session',
    'held-parallel',
    'held-decision',
    'held-signal',
    'held-bulk-a',
    'held-bulk-b',
  ]
  await writeAdvisories(
    advisories,
    held.map((name) => ({ ...about, id: `SA-${name}`, package: name })),
  )
  const clamd = await startFakeClamd()
  const options: ServiceOptions = {
    env: {
      ...{ SVC_OSV_DIR: advisories, CLAMAV_HOST: clamd.address.host, CLAMAV_PORT: String(clamd.address.port) },
      // The real limits: each token is counted separately.
      ...{ RATE_LIMIT_FACTOR: '1', BACKEND_PORT: String(await freePort()), REPO_FORMAT: 'all' },
      // The shortest life, because some cases wait for the end of a session.
      JWT_EXPIRE_MINUTES: '1',
      OUTBOUND_ALLOWED_HOSTS: '127.0.0.1',
    },
  }
  let service = await startService(options)
  // The cases take longer than a session.
  const { body } = await service.call('POST', '/auth/api-tokens', { name: 'stage', role: 'admin' })
  const token = body.token as string
  service.token = token
  await readAdvisories(service)
  const homes: Home[] = []
  const secrets = [ADMIN.password, service.token]
  const keep = async (env: Record<string, string>) => {
    const home = await newHome(env)
    await mkdir(join(home.path, 'dist'))
    homes.push(home)
    return home
  }
  const stage: Stage = {
    service,
    homes,
    secrets,
    async restart() {
      service = await startService({ ...options, token, reposDir: service.reposDir, databaseUrl: service.databaseUrl })
      stage.service = service
    },
    async home(role) {
      const name = `${role}-${homes.length}`
      const { body } = await service.call('POST', '/auth/api-tokens', { name, role })
      secrets.push(body.token)
      return keep({ GATEHOUSE_URL: service.api, GATEHOUSE_TOKEN: body.token })
    },
    stranger: (env = {}) => keep(env),
    async close() {
      await stage.service.stop()
      await clamd.close()
      for (const home of homes) await home.remove()
      await rm(advisories, { recursive: true, force: true })
    },
  }
  return stage
}

/** Writes a package below `dist/` of a home. @returns its path there */
export async function deb(home: Home, name: string, sample: SampleDeb = {}): Promise<string> {
  const path = join('dist', `${name}_${sample.version ?? '1.0-1'}.deb`)
  await writeFile(join(home.path, path), await buildDeb({ name, ...sample }))
  return path
}

export const infected = (home: Home, name: string) => deb(home, name, { files: { 'usr/bin/bad': eicar() } })

/** A person with a session: a home where the command `login` was run, with user name and password. */
export async function signIn(stage: Stage, url = stage.service.api): Promise<Home> {
  const home = await stage.stranger()
  const user = { username: `person-${stage.homes.length}`, password: 'Person-of-the-tests-1', role: 'maintainer' }
  stage.secrets.push(user.password)
  const made = await stage.service.call('POST', '/auth/users', user)
  if (made.status !== 201) throw new Error(`no user was made: ${JSON.stringify(made.body)}`)
  const login = ['login', '--url', url, '--username', user.username, '--plain-text']
  const { code, out } = await home.onTerminal(login, [['password', user.password]])
  if (code !== 0) throw new Error(`nobody was signed in: ${out}`)
  stage.secrets.push(JSON.parse(await readFile(join(home.path, CONFIG), 'utf8')).profiles.default.token)
  return home
}
