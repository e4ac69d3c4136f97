// An isolated dnf for tests: configuration, caches, keys and rpm database are in one temporary directory.
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { runAsRoot } from './command.ts'
import { createRootDirectory, type RpmClient } from './rpm-root.ts'

const REPOSITORY = 'gatehouse'

export const dnf: RpmClient = {
  name: 'dnf',
  needs: ['dnf', 'rpm', 'gnupg'],
  readers: 2,
  messages: {
    badSignature:
      /bad GPG signature|GPG verification is enabled, but GPG signature is not available|repomd\.xml GPG signature verification error/i,
    badIndex: /checksum doesn't match|Downloading successful, but checksum/i,
    badPackage: /checksum doesn't match|Downloading successful, but checksum|Package .* is corrupted|not correct/i,
    unsignedPackage: /is not signed/,
    nothingProvides: /nothing provides/,
  },
  async createRoot({ url, key, arch = 'x86_64' }) {
    const { at, directory, makeDirectories, installed, file, dispose } = await createRootDirectory('dnf-root-')
    await makeDirectories('etc/dnf/vars', 'etc/yum.repos.d', 'var/log', 'var/lib/dnf', 'var/lib/rpm')
    const isAddress = key.startsWith('http')
    if (!isAddress) await writeFile(at('etc/repository.asc'), key)
    // Debian's librpm would keep its database below HOME.
    await writeFile(at('.rpmmacros'), '%_dbpath /var/lib/rpm\n')
    await writeFile(
      at('etc/dnf.conf'),
      [
        '[main]',
        'best=True',
        'plugins=0',
        'install_weak_deps=0',
        // Fails immediately when something cannot be fetched or verified.
        'skip_if_unavailable=0',
        'retries=1',
        'fastestmirror=0',
        'zchunk=0',
        `reposdir=${at('etc/yum.repos.d')}`,
        `cachedir=${at('var/cache/dnf')}`,
        `logdir=${at('var/log')}`,
        `persistdir=${at('var/lib/dnf')}`,
        `varsdir=${at('etc/dnf/vars')}`,
        `pluginconfpath=${at('etc/dnf/plugins')}`,
        '',
      ].join('\n'),
    )
    await writeFile(
      at('etc/yum.repos.d/gatehouse.repo'),
      [
        `[${REPOSITORY}]`,
        'name=Gatehouse',
        `baseurl=${url}`,
        'enabled=1',
        'gpgcheck=1',
        'repo_gpgcheck=1',
        `gpgkey=${isAddress ? key : `file://${at('etc/repository.asc')}`}`,
        '',
      ].join('\n'),
    )
    const options = [
      '-c',
      at('etc/dnf.conf'),
      `--installroot=${directory}`,
      '--releasever=9',
      `--forcearch=${arch}`,
      '-y',
    ]
    const run = (...args: string[]) => runAsRoot(['dnf', ...options, ...args], directory, { HOME: directory })
    return {
      directory,
      run,
      installed,
      file,
      dispose,
      useRepoFile: (content) => writeFile(at('etc/yum.repos.d/gatehouse.repo'), content),
      refresh: () => run('--refresh', 'makecache'),
      async versions(name) {
        const { code, text } = await run('-q', '-C', 'list', '--available', '--showduplicates', name)
        if (code !== 0 && !text.includes('No matching Packages'))
          throw new Error(`dnf list ended with ${code}: ${text}`)
        // It lists them oldest first.
        const rows = text.split('\n').filter((line) => line.startsWith(`${name}.`))
        return rows.map((line) => line.split(/\s+/)[1] as string).reverse()
      },
      install: (...names) => run('install', ...names),
      download: async (...names) => {
        await rm(at('download'), { recursive: true, force: true })
        await mkdir(at('download'))
        return run('install', '--downloadonly', `--destdir=${at('download')}`, ...names)
      },
      upgrade: () => run('upgrade', '--refresh'),
      remove: (...names) => run('remove', ...names),
      async forget() {
        await runAsRoot(['rm', '-rf', at('var/cache/dnf'), at('var/lib/dnf')], directory)
        await makeDirectories('var/lib/dnf')
      },
    }
  },
}
