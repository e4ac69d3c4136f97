// The directory and database of a service with some packages, created once and copied for each case.
import { execFileSync } from 'node:child_process'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import type { SampleAdvisory } from '../samples/osv.ts'
import { buildPackage, type Format, type Sample } from './packages.ts'
import type { ObjectServer } from '../pool/object-server.ts'
import { startService, type Service } from '../service.ts'
import { startPostgres, type Postgres } from './postgres.ts'

export type Engine = 'pglite' | 'postgres'

/** Findings for packages that each installation has, in both of its distributions. */
export const ADVISORIES: readonly SampleAdvisory[] = [
  { ecosystem: 'Ubuntu:22.04:LTS', package: 'shared', cve: 'CVE-2026-3001' },
  { ecosystem: 'Ubuntu:22.04:LTS', package: 'beta', cve: 'CVE-2026-3002' },
  { ecosystem: 'Ubuntu:24.04:LTS', package: 'shared', cve: 'CVE-2026-3003' },
].map((about, n) => ({ ...about, id: `SA-${n}`, fixed: '9.0', severity: 'low' as const }))

export interface Installation {
  directory: string
  reposDir: string
  databaseUrl: string
  /** an API token of an admin, valid for every copy */
  token: string
  /** further environment variables */
  env: Record<string, string>
  remove(): Promise<void>
}

export interface Installations {
  engine: Engine
  /** null with the embedded database */
  postgres: Postgres | null
  /** @param settings `hold`: packages that cannot be scanned are held */
  copy(options?: { settings?: 'hold'; emptyDatabase?: boolean }): Promise<Installation>
  remove(): Promise<void>
}

/** The packages of every installation. */
export const STOCK: Record<Format, (Sample & { distribution: string })[]> = {
  apt: [
    { distribution: 'jammy', name: 'alpha', version: '1.0' },
    { distribution: 'jammy', name: 'alpha', version: '2.0' },
    { distribution: 'jammy', name: 'beta', version: '1.0', arch: 'all' },
    { distribution: 'jammy', name: 'shared', version: '1.0' },
    { distribution: 'noble', name: 'shared', version: '1.0' },
    { distribution: 'noble', name: 'gamma', version: '1:1.0+b1' },
  ],
  rpm: [
    { distribution: 'rocky9', name: 'alpha', version: '1.0-1' },
    { distribution: 'rocky9', name: 'alpha', version: '2.0-1' },
    { distribution: 'fedora', name: 'gamma', version: '1.0-1' },
  ],
  apk: [
    { distribution: 'alpine3.20', name: 'alpha', version: '1.0-r0' },
    { distribution: 'alpine3.20', name: 'alpha', version: '2.0-r0' },
    { distribution: 'alpine3.21', name: 'gamma', version: '1.0-r0' },
  ],
}

/** Key files made earlier, because making them takes seconds. */
const keys = new Map<string, Buffer>()

export interface InstallationOptions {
  /** the directory of another build, which creates the installation */
  root?: string
  /** stores the packages, with a separate prefix for each installation */
  objects?: ObjectServer
  /** directory for the data of the PostgreSQL server */
  database?: string
}

export async function createInstallations(
  engine: Engine,
  format: Format = 'apt',
  options: InstallationOptions = {},
): Promise<Installations> {
  const base = await mkdtemp(join(tmpdir(), `installations-${engine}-`))
  let postgres: Postgres | null = null
  try {
    if (engine === 'postgres') postgres = await startPostgres(options.database)
    return await furnish(base, engine, postgres, format, options)
  } catch (error) {
    await postgres?.remove()
    await rm(base, { recursive: true, force: true })
    throw error
  }
}

async function furnish(
  base: string,
  engine: Engine,
  postgres: Postgres | null,
  format: Format,
  { root, objects }: InstallationOptions,
): Promise<Installations> {
  const original = join(base, 'original')
  const reposDir = join(original, 'repos')
  await mkdir(join(reposDir, 'gnupg'), { recursive: true })
  for (const [name, content] of keys) await writeFile(join(reposDir, 'gnupg', name), content, { mode: 0o600 })
  const databaseUrl = postgres ? await postgres.create('original') : `pglite://${join(original, 'db')}`

  const envOf = (name: string) => ({ REPO_FORMAT: format, ...objects?.envOf(`${basename(base)}/${name}`) })
  const service = await startService({
    reposDir,
    databaseUrl,
    env: envOf('original'),
    ...(root === undefined ? {} : { root }),
  })
  let token: string
  try {
    for (const { distribution, ...sample } of STOCK[format]) await uploaded(service, format, sample, distribution)
    const { body } = await service.call('POST', '/auth/api-tokens', { name: 'suites', role: 'admin' })
    token = body.token as string
    const first = STOCK[format][0] as (typeof STOCK)['apt'][number]
    await held(service, async () => {
      await uploaded(service, format, { name: 'waiting', version: first.version }, first.distribution)
      await cp(join(reposDir, 'settings.json'), join(base, 'hold.json'))
    })
    // Publishes the distributions without uploads: a copy must not do so later, on a full disk.
    const initialized = await service.call('POST', '/distributions/init', {})
    if (initialized.status !== 200) throw new Error(`not everything was published: ${JSON.stringify(initialized.body)}`)
    if ((await service.stop()) !== 0) throw new Error('the service did not stop cleanly')
  } finally {
    await service.kill()
  }
  for (const name of await readdir(join(reposDir, 'gnupg')))
    keys.set(name, await readFile(join(reposDir, 'gnupg', name)))

  let copies = 0
  return {
    engine,
    postgres,
    async copy({ settings, emptyDatabase = false } = {}) {
      const name = `copy_${++copies}`
      const directory = join(base, name)
      // Node has no function that keeps hard links.
      execFileSync('cp', ['-a', original, directory])
      await objects?.copy(`${basename(base)}/original`, `${basename(base)}/${name}`)
      if (settings) await cp(join(base, `${settings}.json`), join(directory, 'repos', 'settings.json'))
      if (emptyDatabase) await rm(join(directory, 'db'), { recursive: true, force: true })
      return {
        directory,
        reposDir: join(directory, 'repos'),
        databaseUrl: postgres
          ? await postgres.create(name, emptyDatabase ? undefined : 'original')
          : `pglite://${join(directory, 'db')}`,
        token,
        env: envOf(name),
        async remove() {
          await rm(directory, { recursive: true, force: true })
          await postgres?.drop(name)
        },
      }
    },
    async remove() {
      await postgres?.remove()
      await rm(base, { recursive: true, force: true })
    },
  }
}

async function uploaded(service: Service, format: Format, sample: Sample, distribution: string): Promise<void> {
  const { status, body } = await service.upload(await buildPackage(format, sample), 'package', { distribution })
  if (status !== 201) throw new Error(`the stock could not be uploaded: ${status} ${JSON.stringify(body)}`)
}

/** Sets on_unscanned to `hold` while `work` runs. */
async function held(service: Service, work: () => Promise<void>): Promise<void> {
  const set = async (word: string) => {
    const { status, body } = await service.call('PATCH', '/settings/', { validation: { on_unscanned: word } })
    if (status !== 200) throw new Error(`the setting could not be changed: ${status} ${JSON.stringify(body)}`)
  }
  await set('hold')
  await work()
  await set('allow')
}
