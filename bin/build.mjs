// Builds the service into dist/ and the console into dist/web/, each if a source file is newer than its build. `--force`: always.
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { writeClientTypes } from './client-types.mjs'
import { begin } from './runtime.mjs'
import { undiciEnd } from './undici-end.mjs'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const stamp = join(root, 'dist', '.built')
const seed = join(root, 'dist', 'pglite-seed.tar')

/** The file that the build writes among the sources. */
const MADE = join('client', 'src', 'operations.ts')

/**
 * @param {string} path
 * @returns {number} the newest change of a file below it, in ms since 1970; adding or removing a file counts too
 */
function newest(path) {
  const info = statSync(path)
  if (!info.isDirectory()) return path.endsWith(MADE) ? 0 : info.mtimeMs
  return Math.max(info.mtimeMs, ...readdirSync(path).map((name) => newest(join(path, name))))
}

/**
 * Runs a program to its end, with its output on standard error; throws when it fails.
 * @param {string} command
 * @param {string[]} args
 */
function run(command, args) {
  // Vitest sets NODE_ENV to `test`, and the console would then have React's development build, half as large again.
  const env = { ...process.env, NODE_ENV: 'production' }
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: ['ignore', 2, 2], env })
  if (error) throw error
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${status}`)
}

/** Writes dist/openapi.json from the declarations alone; the service serves the same document. */
async function writeOpenapi() {
  const load = (/** @type {string} */ name) => import(pathToFileURL(join(root, 'dist', 'api', name)).href)
  const [{ declarations }, { openapi }] = await Promise.all([load('contract.js'), load('openapi/document.js')])
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  writeFileSync(join(root, 'dist', 'openapi.json'), JSON.stringify(openapi(declarations, { version })))
}

/** Compiles a project. `npm run check` checks the types; a build without types takes half the time. */
function compile(/** @type {string} */ project) {
  run(process.execPath, [join(root, 'node_modules', 'typescript', 'bin', 'tsc'), '-p', project, '--noCheck'])
}

/** The client, and the command as one file with its manual page. */
async function buildCommand() {
  writeClientTypes(join(root, 'dist', 'openapi.json'), join(root, MADE))
  compile(join('client', 'tsconfig.build.json'))
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const { build: bundle } = await import('esbuild')
  const outfile = join(root, 'dist', 'cli', 'gatehouse.mjs')
  await bundle({
    entryPoints: [join(root, 'cli', 'src', 'main.ts')],
    outfile,
    bundle: true,
    platform: 'node',
    target: 'node20.19',
    format: 'esm',
    minify: true,
    keepNames: true,
    plugins: [undiciEnd],
    define: { VERSION: JSON.stringify(version) },
    // commander and undici are CommonJS and call `require` for modules of Node.
    banner: {
      js: `// gatehouse ${version}\nimport { createRequire as gatehouseRequire } from 'node:module'\nconst require = gatehouseRequire(import.meta.url)`,
    },
    legalComments: 'eof',
    logLevel: 'warning',
  })
  chmodSync(outfile, 0o755)
  const { status, stdout } = spawnSync(process.execPath, [outfile, 'man'], { stdio: ['ignore', 'pipe', 2] })
  if (status !== 0) throw new Error(`the command that was built ended with ${status}`)
  writeFileSync(join(root, 'dist', 'cli', 'gatehouse.1'), stdout)
}

/** @param {boolean} force */
function buildConsole(force) {
  const built = join(root, 'dist', 'web', '.built')
  const sources = ['web', 'client/src', 'src/domain', 'package-lock.json'].map((name) => newest(join(root, name)))
  if (!force && existsSync(built) && Math.max(...sources) <= statSync(built).mtimeMs) return
  const started = new Date()
  run(process.execPath, [join(root, 'node_modules', 'vite', 'bin', 'vite.js'), 'build', 'web', '--logLevel', 'warn'])
  writeFileSync(built, '')
  utimesSync(built, started, started)
}

/** @param {{ force?: boolean }} options */
export async function build({ force = false } = {}) {
  const sources = [
    ...['src', 'package.json', 'tsconfig.json', 'tsconfig.build.json'],
    ...['client/src', 'client/tsconfig.build.json', 'cli/src', 'bin/client-types.mjs', 'bin/undici-end.mjs'],
  ].map((name) => newest(join(root, name)))
  if (force || !existsSync(stamp) || Math.max(...sources) > statSync(stamp).mtimeMs) {
    const started = new Date()
    for (const name of existsSync(join(root, 'dist')) ? readdirSync(join(root, 'dist')) : []) {
      if (name !== 'pglite-seed.tar' && name !== 'web') rmSync(join(root, 'dist', name), { recursive: true })
    }
    compile('tsconfig.build.json')
    mkdirSync(join(root, 'dist'), { recursive: true })
    await writeOpenapi()
    await buildCommand()
    writeFileSync(stamp, '')
    // A file edited during the build is newer than the stamp and builds again.
    utimesSync(stamp, started, started)
  }
  buildConsole(force)
  if (!existsSync(seed)) {
    // initdb in wasm takes 5 s and 900 MB; every later start of an embedded database copies this instead.
    const { PGlite } = await import('@electric-sql/pglite')
    const client = await PGlite.create()
    writeFileSync(seed, Buffer.from(await (await client.dumpDataDir('none')).arrayBuffer()))
    await client.close()
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  await begin()
  await build({ force: process.argv.includes('--force') })
}
