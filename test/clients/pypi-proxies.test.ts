// pip, uv and poetry install what the index of this machine has, through proxies: with their rules, and past them.
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { need } from '../need.ts'
import { removeTemporary, type Service } from '../service.ts'
import { startProxies } from './upstream.ts'

const run = promisify(execFile)

let service: Service
let directory: string
let programs: string
let places = 0

beforeAll(async () => {
  need('python3-venv')
  directory = await mkdtemp(join(tmpdir(), 'python-proxies-'))
  programs = (await run(join(import.meta.dirname, 'pypi/tools.sh'))).stdout.trim()
  service = await startProxies('pypi', {
    now: { min_age_days: 0 },
    week: {},
    attested: { min_age_days: 0, provenance: 'require' },
  })
})
afterAll(async () => {
  await service?.stop()
  await removeTemporary()
  await rm(directory, { recursive: true, force: true })
})

interface Ran {
  code: number
  text: string
  /** what is installed: `six-1.17.0` */
  found: string[]
}

/** Nothing of this machine's own configuration reaches the clients, and nothing that an earlier one kept. */
const environment = (place: string) => ({
  ...{ PATH: `${programs}:/usr/bin:/bin`, HOME: place, LANG: 'C.UTF-8', COLUMNS: '1000' },
  ...{ PIP_CONFIG_FILE: '/dev/null', PIP_DISABLE_PIP_VERSION_CHECK: '1', PIP_NO_CACHE_DIR: '1' },
  ...{ UV_NO_CONFIG: '1', UV_CACHE_DIR: join(place, 'uv'), UV_PYTHON_DOWNLOADS: 'never' },
  ...{ POETRY_CACHE_DIR: join(place, 'poetry'), POETRY_CONFIG_DIR: join(place, 'poetry-config') },
  ...{ POETRY_VIRTUALENVS_IN_PROJECT: '1', PYTHON_KEYRING_BACKEND: 'keyring.backends.null.Keyring' },
})

const simple = (repo: string) => `${service.api}/pypi/${repo}/simple/`

/** Installs into a new directory. */
const INSTALL: Record<'pip' | 'uv' | 'poetry', (repo: string, wanted: string) => Promise<Ran>> = {
  pip: (repo, wanted) =>
    inPlace('target', (target) => [['pip', 'install', '--index-url', simple(repo), '--target', target, wanted]]),
  uv: (repo, wanted) =>
    inPlace('target', (target) => [['uv', 'pip', 'install', '--index-url', simple(repo), '--target', target, wanted]]),
  poetry: (repo, wanted) =>
    inPlace('.venv/lib', () => [
      ['poetry', 'source', 'add', '--priority=primary', 'gatehouse', simple(repo)],
      ['poetry', 'add', '--no-interaction', wanted],
    ]),
}

async function inPlace(target: string, commands: (target: string) => string[][]): Promise<Ran> {
  const place = join(directory, `place-${places++}`)
  await mkdir(place)
  const project = ['[project]', 'name = "p"', 'version = "0.1"', 'requires-python = ">=3.11,<4"', 'dependencies = []']
  await writeFile(join(place, 'pyproject.toml'), [...project, '[tool.poetry]', 'package-mode = false', ''].join('\n'))
  let ended = { code: 0, text: '' }
  for (const [program = '', ...args] of commands(join(place, target))) {
    const options = { cwd: place, env: environment(place), maxBuffer: 2 ** 26 }
    ended = await run(program, args, options).then(
      ({ stdout, stderr }) => ({ code: 0, text: stdout + stderr }),
      ({ code, stdout, stderr }: Record<'stdout' | 'stderr', string> & { code: number }) => ({
        code,
        text: stdout + stderr,
      }),
    )
    if (ended.code !== 0) break
  }
  const all = await readdir(join(place, target), { recursive: true }).catch(() => [])
  const found = all.flatMap((path) => /([^/]+)\.dist-info$/.exec(path)?.[1] ?? [])
  return { ...ended, found }
}

const SAID: Record<string, RegExp> = {
  pip: /403 Client Error: six-1\.17\.0-py2\.py3-none-any\.whl is held: it has no provenance/,
  uv: /403 six-1\.17\.0-py2\.py3-none-any\.whl is held: it has no provenance/i,
  poetry: /403 Client Error: six-1\.17\.0-py2\.py3-none-any\.whl is held: it has no provenance/,
}

describe.each(['pip', 'uv', 'poetry'] as const)('%s', (client) => {
  test.each(['now', 'week'])('installs a package with what it needs from %s', async (repo) => {
    const { code, text, found } = await INSTALL[client](repo, 'requests')
    expect(code, text).toBe(0)
    for (const name of ['requests', 'urllib3', 'idna', 'certifi', 'charset_normalizer'])
      expect(found.join(' ')).toContain(`${name}-`)
  })

  test('says why a version is held', async () => {
    const { code, text, found } = await INSTALL[client]('attested', 'six==1.17.0')
    expect(code, text).not.toBe(0)
    expect(found.filter((name) => name.startsWith('six-'))).toEqual([])
    expect(text).toMatch(SAID[client]!)
  })
})

test('a held version that was asked for and approved is installed by each of them', async () => {
  const asked = await service.call('POST', '/registries/pypi/attested/requests', { name: 'six', version: '1.17.0' })
  expect(asked.body).toMatchObject({ files: ['six-1.17.0-py2.py3-none-any.whl', 'six-1.17.0.tar.gz'] })
  for (const arch of ['sdist', 'py2.py3-none-any']) {
    const path = `/security/packages/six/1.17.0/decide?distribution=pypi%2Fattested&arch=${arch}`
    const approved = await service.call('POST', path, { decision: 'approve', justification: 'we know it' })
    expect(approved.status, JSON.stringify(approved.body)).toBe(200)
  }
  for (const client of ['pip', 'uv', 'poetry'] as const) {
    const { code, text, found } = await INSTALL[client]('attested', 'six==1.17.0')
    expect(code, text).toBe(0)
    expect(found).toContain('six-1.17.0')
  }
})
