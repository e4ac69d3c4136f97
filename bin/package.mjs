// `npm run package [-- DIRECTORY]`: a .deb and an .rpm of Gatehouse itself, in ./data/packages unless a directory is given.
// `node bin/package.mjs --layout DIRECTORY`: only the files that are packed, for the container image.
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from './build.mjs'
import { begin } from './runtime.mjs'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const at = (/** @type {string[]} */ ...path) => join(root, ...path)

/** Debian's names of architectures, which nfpm takes for all formats. */
const ARCHITECTURES = { x64: 'amd64', arm64: 'arm64' }

/** The packages that contain Node itself, of which only the program is packed. */
const NODE = /^node_modules\/node-linux-/

/** False for files that a running service never reads: declarations, maps, sources, binaries of other systems. */
function isNeeded(/** @type {string} */ path) {
  if (/\.(?:d\.[cm]?ts|map|ts|md|markdown|flow)$/i.test(path) && !/licen[cs]e/i.test(basename(path))) return false
  const [, prebuild] = /\/prebuilds\/([^/]+)$/.exec(path) ?? []
  return prebuild === undefined || prebuild === `${process.platform}-${process.arch}`
}

/** The directories of packages that production needs and this machine has, as marked in package-lock.json. */
function productionPackages() {
  /** @type {{ packages: Record<string, { dev?: boolean, devOptional?: boolean, link?: boolean }> }} */
  const { packages } = JSON.parse(readFileSync(at('package-lock.json'), 'utf8'))
  return Object.entries(packages)
    .filter(([path, { dev, devOptional, link }]) => path.startsWith('node_modules/') && !dev && !devOptional && !link)
    .map(([path]) => path)
    .filter((path) => existsSync(at(path)) && !NODE.test(path))
}

/** Lays out the files that nfpm.yaml names. */
function layOut(/** @type {string} */ stage) {
  const copy = (/** @type {string} */ from, /** @type {string} */ to, filter = isNeeded) =>
    cpSync(at(from), join(stage, to), { recursive: true, filter })
  copy('dist', 'lib/dist')
  // The list also contains nested packages, so they are not copied with their parent.
  for (const path of productionPackages())
    copy(path, `lib/${path}`, (source) => isNeeded(source) && !source.startsWith(join(at(path), 'node_modules')))
  copy('package.json', 'lib/package.json')
  const node = `node_modules/node-linux-${process.arch}`
  copy(`${node}/bin/node`, 'lib/bin/node')
  copy(`${node}/LICENSE`, 'lib/bin/LICENSE')
  for (const name of ['gatehouse-server', 'server.mjs']) copy(`deploy/package/${name}`, `lib/${name}`)
  copy('docs', 'doc', () => true)
  copy('deploy/nginx', 'doc/nginx')
  copy('deploy/prometheus', 'doc/prometheus')
  copy('deploy/grafana', 'doc/grafana')
  for (const name of ['README.md', 'LICENSE', 'CHANGELOG.md']) copy(name, `doc/${name}`, () => true)
  // The licence of the typeface asks for its text beside the files.
  copy('node_modules/@fontsource-variable/geist/LICENSE', 'doc/LICENSE.typeface', () => true)
  for (const name of ['gatehouse.env', 'serve.env']) copy(`deploy/package/${name}`, `etc/${name}`)
  for (const name of ['postinstall.sh', 'preremove.sh', 'postremove.sh'])
    copy(`deploy/package/${name}`, `scripts/${name}`)
  copy('deploy/systemd', 'systemd')
  copy('deploy/package/nfpm.yaml', 'nfpm.yaml')
}

const [only, directory] = process.argv[2] === '--layout' ? ['layout', process.argv[3]] : ['packages', process.argv[2]]
const arch = ARCHITECTURES[/** @type {keyof typeof ARCHITECTURES} */ (process.arch)]
if (process.platform !== 'linux' || !arch) throw new Error('packages are made on Linux, on x64 or arm64')
const target = resolve(directory ?? at('data', 'packages'))
await begin()
await build()
if (only === 'layout') {
  layOut(target)
  process.exit(0)
}
const nfpm = execFileSync('sh', [at('test', 'nfpm.sh')], { encoding: 'utf8', stdio: ['ignore', 'pipe', 2] }).trim()
const stage = mkdtempSync(join(tmpdir(), 'gatehouse-package-'))
try {
  layOut(stage)
  mkdirSync(target, { recursive: true })
  const { version } = JSON.parse(readFileSync(at('package.json'), 'utf8'))
  // Files of a package must be readable, whatever the umask of this shell.
  execFileSync('chmod', ['-R', 'u=rwX,go=rX', stage])
  execFileSync('chmod', ['755', join(stage, 'lib/gatehouse-server'), join(stage, 'lib/bin/node')])
  for (const format of ['deb', 'rpm']) {
    const file = join(target, `gatehouse-${version}-${arch}.${format}`)
    execFileSync(nfpm, ['package', '--packager', format, '--target', file], {
      cwd: stage,
      stdio: ['ignore', 2, 2],
      env: { ...process.env, GATEHOUSE_ARCH: arch, GATEHOUSE_VERSION: version },
    })
    console.log(`${file} ${(statSync(file).size / 1e6).toFixed(1)} MB`)
  }
} finally {
  rmSync(stage, { recursive: true, force: true })
}
