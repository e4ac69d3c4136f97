// The blocks of docs/moving.md about libraries, as they are written: from a real Verdaccio and a real devpi to a service.
import { execFile, execFileSync } from 'node:child_process'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { need } from '../need.ts'
import { buildNpm } from '../samples/npm.ts'
import { buildSdist, buildWheel } from '../samples/python.ts'
import { removeTemporary, startService, type Service } from '../service.ts'
import { startDevpi, startVerdaccio, type OldRegistry } from './old-registries.ts'
import { prepareMachine, type Machine } from './npm/clients.ts'

const PAGE = readFile(join(import.meta.dirname, '../../docs/moving.md'), 'utf8')

let service: Service
let machine: Machine
let token: string
const old: OldRegistry[] = []

beforeAll(async () => {
  need('curl', 'jq', 'python3-venv')
  service = await startService()
  machine = await prepareMachine()
  token = (await service.call('POST', '/auth/api-tokens', { name: 'mover', role: 'uploader' })).body.token
  for (const [format, name] of [
    ['npm', 'web'],
    ['pypi', 'team'],
  ])
    expect((await service.call('POST', '/registries', { format, name, kind: 'hosted' })).status).toBe(201)
})
afterAll(async () => {
  for (const { stop } of old) await stop()
  await machine?.close()
  await service?.stop()
  await removeTemporary()
})

/** One of the blocks, the first is 0. */
async function block(nth: number): Promise<string> {
  const found = [...(await PAGE).matchAll(/^```sh not-run: needs a registry to move from[^\n]*\n([^]*?)^```$/gm)]
  return found[nth]![1]!
}

/** Runs a script in a directory. @returns its output */
async function sh(script: string, directory: string, env: Record<string, string>): Promise<string> {
  return new Promise((resolve, reject) =>
    execFile('bash', ['-euo', 'pipefail', '-c', script], { cwd: directory, env }, (error, out, err) =>
      error ? reject(new Error(`${out}\n${err}`, { cause: error })) : resolve(out),
    ),
  )
}

test('npm packages come with their tags and digests, and lock files install them from here', async () => {
  const build = async (name: string, version: string, tag?: string) => ({
    ...{ name, version, tarball: await buildNpm({ name, version }) },
    ...(tag ? { tag } : {}),
  })
  const verdaccio = await startVerdaccio({
    packages: [
      await build('lib', '1.0.0'),
      await build('lib', '2.0.0-rc.1', 'next'),
      await build('lib', '1.1.0'),
      await build('@acme/hello', '0.1.0'),
    ],
  })
  old.push(verdaccio)
  const { directory, path } = await machine.shell()
  const NEW = `${service.api}/npm/web/`
  const env = { PATH: path, HOME: `${directory}-home`, OLD: verdaccio.address, NEW }
  await writeFile(join(directory, 'package.json'), '{"dependencies":{"lib":"^1.0.0","@acme/hello":"*"}}')
  await sh('npm install --registry "$OLD"', directory, env)
  await writeFile(join(directory, 'names.txt'), 'lib\n@acme/hello\n')
  await writeFile(join(directory, '.npmrc'), `registry=${NEW}\n${NEW.replace('http:', '')}:_authToken=${token}\n`)
  await sh(await block(0), directory, env)
  await expect(readFile(join(directory, 'left.txt'), 'utf8')).rejects.toThrow('ENOENT')
  const tags = await sh('npm view lib dist-tags --json 2> /dev/null | jq -c .', directory, env)
  expect(tags).toBe('{"latest":"1.1.0","next":"2.0.0-rc.1"}\n')

  await sh(await block(0), directory, env)
  expect((await readFile(join(directory, 'left.txt'), 'utf8')).split('\n')).toContain('lib@1.0.0')

  await old.pop()!.stop()
  await rm(join(directory, 'node_modules'), { recursive: true })
  await rm(`${directory}-home/.npm`, { recursive: true })
  await sh(await block(1), directory, env)
  const lock = await readFile(join(directory, 'package-lock.json'), 'utf8')
  expect(lock).toContain(`"resolved": "${NEW}lib/-/lib-1.1.0.tgz"`)
})

test('Python packages come with all their files', async () => {
  const devpi = await startDevpi({
    files: {
      'acme_tool-1.4.1-py3-none-any.whl': buildWheel({ name: 'acme-tool', version: '1.4.1' }),
      'acme_tool-1.4.2-py3-none-any.whl': buildWheel(),
      'acme_tool-1.4.2.tar.gz': buildSdist(),
      'acme_other-1.0-py3-none-any.whl': buildWheel({ name: 'acme-other', version: '1.0' }),
    },
  })
  old.push(devpi)
  const { directory, path } = await machine.shell()
  await writeFile(join(directory, 'projects.txt'), 'acme-tool\nacme-other\n')
  const tools = execFileSync(join(import.meta.dirname, 'pypi/tools.sh'), { encoding: 'utf8' }).trim()
  const env = {
    ...{ PATH: `${tools}:${path}`, HOME: `${directory}-home`, TWINE_PASSWORD: token },
    ...{ OLD: devpi.address, NEW: `${service.api}/pypi/team/` },
  }
  // A second run finds the same files here already, which is no failure.
  for (let round = 0; round < 2; round++) {
    await sh(await block(2), directory, env)
    await expect(readFile(join(directory, 'left.txt'), 'utf8')).rejects.toThrow('ENOENT')
  }
  const headers = { authorization: `Bearer ${token}`, accept: 'application/vnd.pypi.simple.v1+json' }
  const listed = async (project: string) => {
    const page = await fetch(`${env.NEW}simple/${project}/`, { headers })
    return ((await page.json()) as { files: { filename: string }[] }).files.map(({ filename }) => filename).sort()
  }
  expect(await listed('acme-tool')).toEqual([
    'acme_tool-1.4.1-py3-none-any.whl',
    'acme_tool-1.4.2-py3-none-any.whl',
    'acme_tool-1.4.2.tar.gz',
  ])
  expect(await listed('acme-other')).toEqual(['acme_other-1.0-py3-none-any.whl'])
})
