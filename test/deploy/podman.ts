// Rootless podman, with bases made here in place of those of a registry, which the machines of this project cannot reach.
import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { debianRoot } from '../debian-root.ts'
import { need } from '../need.ts'

const ROOT = join(import.meta.dirname, '../..')
/** A user without rights. Its images stay between runs, because the layers before the code take minutes. */
const USER = 'gatehouse-podman'
const HOME = '/var/tmp/gatehouse-podman'
const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt'

export interface Podman {
  /** @returns standard output @throws with the output when it fails */
  run(...args: string[]): string
  /** Builds an image of the checkout, with the changes that are not committed. */
  build(tag: string): void
  /** Removes the files of this run, and containers that are left. */
  remove(): void
}

/** Needs root, to make the user. */
export async function createPodman(node: string): Promise<Podman> {
  need('podman', 'runc', 'uidmap', 'slirp4netns')
  if (spawnSync('id', [USER]).status !== 0) must('useradd', ['--create-home', '--home-dir', HOME, USER])
  const directory = mkdtempSync(join(HOME, 'run-'))
  must('chown', [USER, directory])
  const environment = [`HOME=${HOME}`, `XDG_RUNTIME_DIR=${directory}`, 'PATH=/usr/sbin:/usr/bin:/sbin:/bin']
  const asUser = ['--reuid', USER, '--regid', USER, '--init-groups', 'env', '-i', ...environment]
  // There may be no systemd, which would make groups of processes and a journal. crun refuses machines that have both kinds of
  // groups.
  // Without the driver it may choose one that copies 15 GB.
  const chosen = ['--cgroup-manager=cgroupfs', '--events-backend=file', '--runtime=runc', '--storage-driver=overlay']
  const here = ['podman', ...chosen, '--log-level=error']
  const podman = (args: string[], input?: Uint8Array) => must('setpriv', [...asUser, ...here, ...args], input)
  const has = (image: string) => spawnSync('setpriv', [...asUser, ...here, 'image', 'exists', image]).status === 0

  const debian = 'docker.io/library/debian:13-slim'
  if (!has(debian)) {
    const root = await debianRoot('trixie')
    podman(['import', '-', debian], must('tar', ['-C', root, '-c', '.']).bytes)
  }
  const nodeImage = `docker.io/library/node:${node}-trixie-slim`
  if (!has(nodeImage)) {
    const parts = join(directory, 'node')
    mkdirSync(parts)
    cpSync(process.execPath, join(parts, 'node'))
    cpSync(npmDirectory(), join(parts, 'npm'), { recursive: true })
    writeFileSync(
      join(parts, 'Containerfile'),
      `FROM ${debian}
RUN apt-get update && apt-get install -y --no-install-recommends libatomic1 libstdc++6
COPY node /usr/local/bin/node
COPY npm /usr/local/lib/node_modules/npm
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm
`,
    )
    must('chown', ['-R', USER, parts])
    podman(['build', '--isolation=chroot', '--network=host', '-t', nodeImage, parts])
  }

  return {
    run: (...args) => podman(args).text,
    build(tag) {
      const context = join(directory, 'context')
      copyCheckout(context)
      // The build asks the same registry as this machine, whose certificate may be one of its own.
      const npmrc = join(directory, 'npmrc')
      const registry = must('npm', ['config', 'get', 'registry']).text.trim()
      writeFileSync(npmrc, `registry=${registry}\ncafile=/registry.crt\n`)
      must('chown', ['-R', USER, context, npmrc])
      const mounts = ['-v', `${npmrc}:/root/.npmrc:ro`, '-v', `${CERTIFICATES}:/registry.crt:ro`]
      const file = join(context, 'deploy/container/Containerfile')
      podman([
        'build',
        '--isolation=chroot',
        '--network=host',
        '--format=docker',
        '--layers',
        ...mounts,
        '-f',
        file,
        '-t',
        tag,
        context,
      ])
    },
    remove() {
      spawnSync('setpriv', [...asUser, ...here, 'rm', '--all', '--force'])
      // Ends the process that keeps the user's namespaces.
      spawnSync('setpriv', [...asUser, ...here, 'system', 'migrate'])
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

/** That of this machine: vitest and npm put other directories first in the search path. */
function npmDirectory(): string {
  const path = (process.env['PATH'] ?? '').split(':').filter((one) => !one.includes('node_modules'))
  const { text } = must('env', [`PATH=${path.join(':')}`, 'sh', '-c', 'readlink -f "$(command -v npm)"'])
  return join(dirname(text.trim()), '..')
}

/** Committed files and new ones, without what git ignores. */
function copyCheckout(to: string): void {
  const listed = must('git', ['-C', ROOT, 'ls-files', '-z', '--cached', '--others', '--exclude-standard']).text
  for (const path of listed.split('\0').filter((one) => one !== '' && existsSync(join(ROOT, one)))) {
    mkdirSync(dirname(join(to, path)), { recursive: true })
    cpSync(join(ROOT, path), join(to, path), { preserveTimestamps: true })
  }
  chmodSync(to, 0o755)
}

function must(program: string, args: string[], input?: Uint8Array): { text: string; bytes: Buffer } {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    maxBuffer: 2 ** 30,
    ...(input ? { input } : {}),
  })
  if (error || status !== 0)
    throw new Error(`${program} ${args.join(' ')}: ${error?.message ?? String(stdout) + String(stderr)}`)
  return { text: String(stdout), bytes: stdout }
}
