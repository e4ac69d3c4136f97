// Builds the service into dist/ when a source file is newer than the last build. `--force` builds always.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const stamp = join(root, 'dist', '.built')
const seed = join(root, 'dist', 'pglite-seed.tar')

/**
 * @param {string} path
 * @returns {number} the newest change below it, in ms since 1970
 */
function newest(path) {
  const info = statSync(path)
  if (!info.isDirectory()) return info.mtimeMs
  return Math.max(info.mtimeMs, ...readdirSync(path).map((name) => newest(join(path, name))))
}

/**
 * Runs a program to its end, its output on standard error; throws when it fails.
 * @param {string} command
 * @param {string[]} args
 */
export function run(command, args) {
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: ['ignore', 2, 2] })
  if (error) throw error
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${status}`)
}

/** Installs what package-lock.json names, unless node_modules already has it. */
export function install() {
  const marker = join(root, 'node_modules', '.package-lock.json')
  const sources = ['package.json', 'package-lock.json'].map((name) => join(root, name))
  if (existsSync(marker) && sources.every((source) => statSync(source).mtimeMs <= statSync(marker).mtimeMs)) return
  // A checkout sets the time of every file: ask npm what is installed before installing again.
  if (existsSync(marker) && spawnSync('npm', ['ls', '--all'], { cwd: root, stdio: 'ignore' }).status === 0) return
  run('npm', ['ci', '--no-audit', '--no-fund'])
}

/** Writes dist/openapi.json from the declarations alone; the service answers with the same document. */
async function writeOpenapi() {
  const load = (/** @type {string} */ name) => import(pathToFileURL(join(root, 'dist', 'api', name)).href)
  const [{ declarations }, { openapi }] = await Promise.all([load('contract.js'), load('openapi.js')])
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  writeFileSync(join(root, 'dist', 'openapi.json'), `${JSON.stringify(openapi(declarations, { version }), null, 2)}\n`)
}

/** @param {{ force?: boolean }} options */
export async function build({ force = false } = {}) {
  const sources = ['src', 'package.json', 'tsconfig.json', 'tsconfig.build.json'].map((name) =>
    newest(join(root, name)),
  )
  if (force || !existsSync(stamp) || Math.max(...sources) > statSync(stamp).mtimeMs) {
    const started = new Date()
    for (const name of existsSync(join(root, 'dist')) ? readdirSync(join(root, 'dist')) : []) {
      if (name !== 'pglite-seed.tar') rmSync(join(root, 'dist', name), { recursive: true })
    }
    // Types are checked by `npm run check`; without them a build takes half the time.
    run(process.execPath, [
      join(root, 'node_modules', 'typescript', 'bin', 'tsc'),
      ...['-p', 'tsconfig.build.json', '--noCheck'],
    ])
    mkdirSync(join(root, 'dist'), { recursive: true })
    await writeOpenapi()
    writeFileSync(stamp, '')
    // A file edited during the build is newer than the stamp and builds again.
    utimesSync(stamp, started, started)
  }
  if (!existsSync(seed)) {
    // initdb in wasm takes 5 s and 900 MB; every later start of an embedded database copies this instead.
    const { PGlite } = await import('@electric-sql/pglite')
    const client = await PGlite.create()
    writeFileSync(seed, Buffer.from(await (await client.dumpDataDir('none')).arrayBuffer()))
    await client.close()
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  install()
  await build({ force: process.argv.includes('--force') })
}
