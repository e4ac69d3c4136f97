// pip, uv, twine and poetry against a repository of Python packages, with packages that setuptools builds.
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { need } from '../need.ts'
import { removeTemporary, startService, type Service } from '../service.ts'

const run = promisify(execFile)

let service: Service
let directory: string
let programs: string
let token: string

beforeAll(async () => {
  need('python3-venv')
  directory = await mkdtemp(join(tmpdir(), 'python-clients-'))
  programs = (await run(join(import.meta.dirname, 'pypi/tools.sh'))).stdout.trim()
  service = await startService()
  const make = (body: object) => service.call('POST', '/registries', { format: 'pypi', ...body })
  expect((await make({ name: 'team', kind: 'hosted' })).status).toBe(201)
  expect((await make({ name: 'all', kind: 'group', members: ['team'] })).status).toBe(201)
  token = (await service.call('POST', '/auth/api-tokens', { name: 'clients', role: 'maintainer' })).body.token
})
afterAll(async () => {
  await service?.stop()
  await removeTemporary()
  await rm(directory, { recursive: true, force: true })
})

/** Nothing of this machine's own configuration reaches the clients. */
const environment = () => ({
  PATH: `${programs}:/usr/bin:/bin`,
  HOME: join(directory, 'home'),
  LANG: 'C.UTF-8',
  PIP_CONFIG_FILE: '/dev/null',
  PIP_DISABLE_PIP_VERSION_CHECK: '1',
  PIP_NO_CACHE_DIR: '1',
  PIP_RETRIES: '0',
  UV_NO_CONFIG: '1',
  UV_CACHE_DIR: join(directory, 'uv-cache'),
  UV_PYTHON_DOWNLOADS: 'never',
  POETRY_CACHE_DIR: join(directory, 'poetry-cache'),
  POETRY_CONFIG_DIR: join(directory, 'poetry-config'),
  POETRY_VIRTUALENVS_IN_PROJECT: '1',
  PYTHON_KEYRING_BACKEND: 'keyring.backends.null.Keyring',
  TWINE_NON_INTERACTIVE: '1',
  COLUMNS: '1000',
})

interface Ran {
  code: number
  text: string
}

async function tried(program: string, args: readonly string[], cwd = directory, env: object = {}): Promise<Ran> {
  const options = { cwd, env: { ...environment(), ...env }, maxBuffer: 2 ** 26 }
  return run(program, args, options).then(
    ({ stdout, stderr }) => ({ code: 0, text: stdout + stderr }),
    ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({ code, text: stdout + stderr }),
  )
}

async function ran(program: string, args: readonly string[], cwd?: string, env?: object): Promise<string> {
  const { code, text } = await tried(program, args, cwd, env)
  expect(code, `${program} ${args.join(' ')}\n${text}`).toBe(0)
  return text
}

interface Project {
  version?: string
  dependencies?: string[]
  extras?: Record<string, string[]>
}

/** A wheel and a source distribution. @returns their directory */
async function built(name: string, { version = '1.0', dependencies = [], extras = {} }: Project = {}): Promise<string> {
  const root = join(directory, `${name}-${version}`)
  const module = name.replaceAll('-', '_')
  await mkdir(join(root, module), { recursive: true })
  await writeFile(join(root, module, '__init__.py'), `VERSION = "${version}"\n`)
  await writeFile(join(root, 'README.md'), `# ${name}\n\nGrüße.\n`)
  const optional = Object.entries(extras).map(([extra, needed]) => `${extra} = ${JSON.stringify(needed)}`)
  await writeFile(
    join(root, 'pyproject.toml'),
    [
      ...['[build-system]', 'requires = ["setuptools"]', 'build-backend = "setuptools.build_meta"'],
      ...['[project]', `name = "${name}"`, `version = "${version}"`, 'readme = "README.md"'],
      ...['requires-python = ">=3.9"', `dependencies = ${JSON.stringify(dependencies)}`],
      ...['[project.optional-dependencies]', ...optional],
      ...['[tool.setuptools]', `packages = ["${module}"]`, ''],
    ].join('\n'),
  )
  await ran('python', ['-m', 'build', '--no-isolation', root])
  return join(root, 'dist')
}

const filesOf = async (dist: string) => (await readdir(dist)).sort().map((name) => join(dist, name))
const address = (repo: string, end: string) => `${service.api}/pypi/${repo}/${end}/`
const withToken = (url: string) => url.replace('://', `://__token__:${token}@`)
const index = (repo = 'team') => withToken(address(repo, 'simple'))

const twine = async (dist: string) =>
  ran('twine', [
    ...['upload', '--disable-progress-bar', '--repository-url', address('team', 'legacy')],
    ...['--username', '__token__', '--password', token, ...(await filesOf(dist))],
  ])
const uvPublish = async (dist: string) =>
  ran('uv', ['publish', '--publish-url', address('team', 'legacy'), '--token', token, ...(await filesOf(dist))])

let targets = 0
/** Installs into a new directory. @returns the names of what is there with the versions */
async function installed(client: 'pip' | 'uv', ...wanted: string[]): Promise<string[]> {
  const target = join(directory, `target-${targets++}`)
  await ran(...command(client, target, wanted))
  return (await readdir(target))
    .filter((name) => name.endsWith('.dist-info'))
    .map((name) => name.replace('.dist-info', ''))
    .sort()
}
function command(client: 'pip' | 'uv', target: string, wanted: readonly string[]): [string, string[]] {
  const args = ['install', '--index-url', index(), '--target', target, ...wanted]
  return client === 'pip' ? ['pip', args] : ['uv', ['pip', ...args]]
}

beforeAll(async () => {
  await twine(await built('acme-base'))
  await twine(await built('acme-base', { version: '2.0' }))
  await uvPublish(await built('acme-fast'))
  await uvPublish(await built('acme-app', { dependencies: ['acme-base>=1'], extras: { fast: ['acme-fast'] } }))
})

describe.each(['pip', 'uv'] as const)('%s', (client) => {
  test('installs a package with what it needs', async () => {
    expect(await installed(client, 'acme-app')).toEqual(['acme_app-1.0', 'acme_base-2.0'])
  })

  test('installs an extra', async () => {
    expect(await installed(client, 'Acme.App[fast]')).toEqual(['acme_app-1.0', 'acme_base-2.0', 'acme_fast-1.0'])
  })

  test('installs from a source distribution', async () => {
    const flags =
      client === 'pip' ? ['--no-build-isolation'] : ['--no-build-isolation', '--python', join(programs, 'python')]
    expect(await installed(client, '--no-binary', 'acme-base', ...flags, 'acme-base')).toEqual(['acme_base-2.0'])
  })

  test('leaves out a yanked version, unless it is asked for', async () => {
    const yank = (yanked: string | null) =>
      service.call('PATCH', '/registries/pypi/team/packages/acme-base/2.0', { yanked })
    expect((await yank('loses data')).status).toBe(200)
    expect(await installed(client, 'acme-base')).toEqual(['acme_base-1.0'])
    expect(
      (await ran(...command(client, join(directory, `yanked-${client}`), ['acme-base==2.0']))).toLowerCase(),
    ).toMatch(/yanked.*loses data/s)
    await yank(null)
  })

  test('is told that a credential is needed', async () => {
    const args = ['install', '--index-url', address('team', 'simple'), '--target', join(directory, 'none'), 'acme-base']
    const { code, text } = await (client === 'pip'
      ? tried('pip', ['--no-input', ...args])
      : tried('uv', ['pip', ...args]))
    expect([code === 0, /401|credential|No matching/i.test(text)], text).toEqual([false, true])
  })
})

test('pip downloads, and checks digests that a file of requirements states', async () => {
  const to = join(directory, 'downloaded')
  await ran('pip', ['download', '--index-url', index('all'), '--dest', to, 'acme-app'])
  expect((await readdir(to)).sort()).toEqual(['acme_app-1.0-py3-none-any.whl', 'acme_base-2.0-py3-none-any.whl'])
  const digest = (await ran('pip', ['hash', join(to, 'acme_base-2.0-py3-none-any.whl')])).split('--hash=')[1]!.trim()
  const file = join(directory, 'hashes.txt')
  await writeFile(file, `acme-base==2.0 --hash=${digest}\n`)
  expect(await installed('pip', '--require-hashes', '--requirement', file)).toEqual(['acme_base-2.0'])
  await writeFile(file, `acme-base==2.0 --hash=sha256:${'0'.repeat(64)}\n`)
  const wrong = await tried(...command('pip', join(directory, 'wrong'), ['--require-hashes', '--requirement', file]))
  expect([wrong.code, wrong.text]).toEqual([1, expect.stringMatching(/HASHES.*DO NOT MATCH/is)])
})

test('pip and uv read the metadata of a wheel in place of the wheel', async () => {
  const log = await ran('pip', [
    'install',
    '-v',
    '--dry-run',
    '--index-url',
    index(),
    '--target',
    directory,
    'acme-app',
  ])
  expect(log).toMatch(/acme_app-1\.0-py3-none-any\.whl\.metadata/)
  const before = service.log.length
  await ran('uv', ['pip', 'compile', '--no-cache', '--index-url', index(), await requirements('acme-app')])
  const asked = service.log
    .slice(before)
    .flatMap((line) => (typeof line === 'object' ? ((line['path'] as string | undefined) ?? '') : ''))
  expect(asked.filter((path) => path.includes('.whl')).every((path) => path.endsWith('.metadata'))).toBe(true)
  expect(asked.some((path) => path.endsWith('.whl.metadata'))).toBe(true)
})

async function requirements(text: string): Promise<string> {
  const path = join(directory, 'requirements.in')
  await writeFile(path, `${text}\n`)
  return path
}

test('uv resolves as of an earlier day', async () => {
  const { files } = (await (
    await fetch(address('team', 'simple') + 'acme-base/', {
      headers: { accept: 'application/vnd.pypi.simple.v1+json', authorization: `Bearer ${token}` },
    })
  ).json()) as { files: { filename: string; 'upload-time': string }[] }
  const added = files.find(({ filename }) => filename === 'acme_base-2.0-py3-none-any.whl')!['upload-time']
  const compile = async (before: string) =>
    ran('uv', [
      ...['pip', 'compile', '--no-header', '--index-url', index(), '--exclude-newer', before],
      await requirements('acme-base'),
    ])
  expect(await compile(added)).toMatch(/^acme-base==1\.0$/m)
  expect(await compile('2100-01-01')).toMatch(/^acme-base==2\.0$/m)
})

test('the same files again are fine for twine and uv, other bytes are not', async () => {
  const dist = join(directory, 'acme-base-1.0', 'dist')
  await twine(dist)
  await uvPublish(dist)
  const [wheel] = (await filesOf(dist)).filter((path) => path.endsWith('.whl'))
  const bytes = await readFile(wheel!)
  const other = join(directory, 'other-bytes')
  await mkdir(other)
  // An unpacked size of zero bytes more, but another time of the first file.
  bytes.writeUInt16LE(bytes.readUInt16LE(10) ^ 1, 10)
  const central = bytes.indexOf('PK\x01\x02', 0, 'latin1')
  bytes.writeUInt16LE(bytes.readUInt16LE(central + 12) ^ 1, central + 12)
  await writeFile(join(other, 'acme_base-1.0-py3-none-any.whl'), bytes)
  const args = [
    'upload',
    '--disable-progress-bar',
    '--repository-url',
    address('team', 'legacy'),
    '--username',
    '__token__',
  ]
  const byTwine = await tried('twine', [...args, '--password', token, ...(await filesOf(other))])
  expect([byTwine.code, byTwine.text]).toEqual([1, expect.stringContaining('with other bytes')])
  const publish = ['publish', '--publish-url', address('team', 'legacy'), '--token', token, ...(await filesOf(other))]
  const byUv = await tried('uv', publish)
  expect([byUv.code === 0, byUv.text]).toEqual([false, expect.stringContaining('with other bytes')])
})

describe('a held version', () => {
  const hold = (on_unscanned: 'hold' | 'allow') => service.call('PATCH', '/settings', { validation: { on_unscanned } })
  const sentence = 'it waits for a scan that can judge it'

  beforeAll(async () => {
    await hold('hold')
    await twine(await built('acme-base', { version: '3.0' }))
    await hold('allow')
  })

  test.each(['pip', 'uv'] as const)('is left out by %s, which says why to those who ask for it', async (client) => {
    expect(await installed(client, 'acme-base')).toEqual(['acme_base-2.0'])
    const asked = await tried(...command(client, join(directory, 'held'), ['acme-base==3.0']))
    expect([asked.code === 0, asked.text.includes(sentence)], asked.text).toEqual([false, true])
  })

  test('is left out by poetry, which says why', async () => {
    const project = await poetryProject('held-project')
    const { code, text } = await tried('poetry', ['add', '--no-interaction', 'acme-base==3.0'], project)
    expect([code === 0, text.includes(sentence)], text).toEqual([false, true])
  })

  test('is installed once it is approved', async () => {
    for (const arch of ['sdist', 'py3-none-any']) {
      const one = `/security/packages/acme-base/3.0/decide?distribution=pypi%2Fteam&arch=${arch}`
      const approved = await service.call('POST', one, { decision: 'approve', justification: 'looked at it' })
      expect(approved.status).toBe(200)
    }
    for (const client of ['pip', 'uv'] as const) expect(await installed(client, 'acme-base')).toEqual(['acme_base-3.0'])
  })
})

async function poetryProject(name: string): Promise<string> {
  const project = join(directory, name)
  await mkdir(project)
  await writeFile(
    join(project, 'pyproject.toml'),
    [
      ...['[project]', `name = "${name}"`, 'version = "0.1"', 'requires-python = ">=3.9"', 'dependencies = []'],
      ...['[tool.poetry]', 'package-mode = false', ''],
    ].join('\n'),
  )
  await ran('poetry', ['source', 'add', '--priority=primary', 'gatehouse', address('team', 'simple')], project)
  await ran('poetry', ['config', 'http-basic.gatehouse', '__token__', token], project)
  return project
}

test('poetry adds a package, locks it, and installs from the lock', async () => {
  const project = await poetryProject('poetry-project')
  await ran('poetry', ['add', '--no-interaction', 'acme-app'], project)
  const lock = await readFile(join(project, 'poetry.lock'), 'utf8')
  expect(lock).toMatch(/name = "acme-app"\nversion = "1\.0"/)
  expect(lock).toMatch(/acme_app-1\.0-py3-none-any\.whl", hash = "sha256:/)
  await rm(join(project, '.venv'), { recursive: true })
  await ran('poetry', ['install', '--no-interaction'], project)
  expect(await ran('poetry', ['run', 'python', '-c', 'import acme_app; print(acme_app.VERSION)'], project)).toContain(
    '1.0',
  )
})

test('downloads are counted with the program, and with the machine or token that signed in', async () => {
  const { token: ofMachine } = (await service.call('POST', '/machines', { name: 'build-07' })).body
  const right = { place: 'pypi/team', kind: 'machine', name: 'build-07' }
  expect((await service.call('POST', '/readers', right)).status).toBe(201)
  // Through the group, which has no files of its own.
  const from = address('all', 'simple').replace('://', `://__token__:${ofMachine}@`)
  await ran('pip', ['download', '--no-deps', '--index-url', from, '--dest', join(directory, 'machine'), 'acme-fast'])
  await installed('uv', 'acme-fast')
  const asked = '/downloads/packages/acme-fast?format=pypi'
  const readers = async () => {
    const { downloaded_by: by } = (await service.call('GET', asked)).body
    return (by as Record<string, string>[]).map((one) => [one['reader'], one['client_type'], one['distribution']])
  }
  await expect.poll(readers, { timeout: 60_000 }).toContainEqual(['machine:build-07', 'pip', 'pypi/team'])
  await expect.poll(readers, { timeout: 60_000 }).toContainEqual(['token:clients', 'uv', 'pypi/team'])
  const { items } = (await service.call('GET', '/machines')).body
  expect(items).toMatchObject([{ name: 'build-07', last_seen: expect.any(String) }])
  const { per_client_type: programs } = (await service.call('GET', '/downloads/stats')).body.summary
  expect(programs).toMatchObject({ poetry: expect.any(Number), curl: 0 })
  expect(programs.poetry).toBeGreaterThan(0)
})

test('the commands of docs/pypi.md work', async () => {
  const page = await readFile(join(import.meta.dirname, '../../docs/pypi.md'), 'utf8')
  const blocks = [...page.matchAll(/^```sh[^\n]*\n(.*?)^```$/gms)].map((block) => block[1]!)
  expect(blocks.length).toBeGreaterThan(3)
  const project = await poetryProject('docs-project')
  await ran('poetry', ['source', 'remove', 'gatehouse'], project)
  await writeFile(join(project, 'requirements.in'), 'acme-app\n')
  for (const tool of ['twine', 'uv'])
    await run('cp', ['-r', await built(`docs-${tool}`), join(project, `dist-${tool}`)])
  const { host } = new URL(service.api)
  await ran('sh', ['-euxc', blocks.join('\n')], project, { SCHEME: 'http', URL: service.api, HOST: host, TOKEN: token })
  expect(await readFile(join(project, 'requirements.txt'), 'utf8')).toMatch(/^acme-app==1\.0$/m)
})

test('every wheel and source distribution of the clients themselves is read', async () => {
  const { pypiFormat } = await import('../../src/formats/pypi/index.ts')
  const { means } = await import('../../src/formats/pypi/names.ts')
  const to = join(directory, 'real')
  const names = ['uv', 'twine', 'poetry', 'build', 'setuptools', 'wheel', 'cryptography', 'requests', 'PyYAML', 'numpy']
  // This machine's own configuration says where from.
  await run('python3', ['-m', 'pip', 'download', '--quiet', '--dest', to, ...names], { maxBuffer: 2 ** 26 })
  await run('python3', [
    '-m',
    'pip',
    'download',
    '--quiet',
    '--no-deps',
    '--no-binary',
    ':all:',
    '--dest',
    to,
    'six',
    'idna',
  ])
  const files = await readdir(to)
  expect(files.length).toBeGreaterThan(20)
  for (const file of files) {
    const facts = await pypiFormat.read(join(to, file))
    const { record } = facts as typeof facts & { record: { file: Parameters<typeof means>[3] } }
    expect([file, means(file, facts.name, facts.version, record.file)]).toEqual([file, true])
  }
})
