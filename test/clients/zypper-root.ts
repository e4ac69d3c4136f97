// An isolated zypper for tests: configuration, caches, keys and rpm database are in one temporary directory.
import { symlink, writeFile } from 'node:fs/promises'
import { runAsRoot } from './command.ts'
import { createRootDirectory, type RpmClient } from './rpm-root.ts'

const product = (arch: string) => `<?xml version="1.0" encoding="UTF-8"?>
<product schemeversion="0"><vendor>sample</vendor><name>sample</name><version>1</version><release>1</release><arch>${arch}</arch></product>
`

export const zypper: RpmClient = {
  name: 'zypper',
  needs: ['zypper', 'rpm', 'gnupg'],
  // A second reader saw a wrong signature on a busy machine (2026-11-23).
  readers: 1,
  messages: {
    badSignature: /Signature verification failed|signed with an unknown key/i,
    badIndex: /digest|checksum/i,
    badPackage: /Signature does not verify|digest|checksum/i,
    unsignedPackage: /File is unsigned|Package header is not signed/,
    nothingProvides: /nothing provides/,
  },
  async createRoot({ url, key, importsKeys = true, arch = 'x86_64' }) {
    const { at, directory, makeDirectories, installed, file, dispose } = await createRootDirectory('zypper-root-')
    const state = ['var/cache/zypp', 'var/lib/zypp', 'var/lib/rpm']
    await makeDirectories(
      ...[
        'etc/zypp/repos.d',
        'etc/zypp/services.d',
        'etc/zypp/vars.d',
        'etc/products.d',
        'var/log/zypp',
        'run',
        ...state,
      ],
    )
    const isAddress = key.startsWith('http')
    if (!isAddress) await writeFile(at('etc/repository.asc'), key)
    await writeFile(
      at('etc/zypp/zypp.conf'),
      ['[main]', `arch = ${arch}`, 'solver.onlyRequires = true', 'repo.refresh.delay = 0', ''].join('\n'),
    )
    await writeFile(
      at('etc/zypp/repos.d/gatehouse.repo'),
      [
        '[gatehouse]',
        'name=Gatehouse',
        `baseurl=${url}`,
        'enabled=1',
        'autorefresh=1',
        'gpgcheck=1',
        'repo_gpgcheck=1',
        'pkg_gpgcheck=1',
        'type=rpm-md',
        `gpgkey=${isAddress ? key : `file://${at('etc/repository.asc')}`}`,
        '',
      ].join('\n'),
    )
    // Without a product it prints warnings at every step.
    await writeFile(at('etc/products.d/sample.prod'), product(arch))
    await symlink('sample.prod', at('etc/products.d/baseproduct'))
    const env = {
      HOME: directory,
      ZYPP_CONF: at('etc/zypp/zypp.conf'),
      ZYPP_LOGFILE: at('var/log/zypper.log'),
      ZYPP_LOCKFILE_ROOT: directory,
    }
    // With the option, zypper also imports the key that a repository offers beside its index.
    const options = ['--root', directory, '--non-interactive', ...(importsKeys ? ['--gpg-auto-import-keys'] : [])]
    const run = (...args: string[]) => runAsRoot(['zypper', ...options, ...args], directory, env)
    return {
      directory,
      run,
      installed,
      file,
      dispose,
      useRepoFile: (content) => writeFile(at('etc/zypp/repos.d/gatehouse.repo'), content),
      refresh: () => run('refresh', '--force-download'),
      async versions(name) {
        const { code, text } = await run('--no-refresh', '--xmlout', 'search', '-s', '--match-exact', name)
        // 104: nothing found
        if (code !== 0 && code !== 104) throw new Error(`zypper search ended with ${code}: ${text}`)
        return [...text.matchAll(/<solvable [^>]*edition="([^"]+)"/g)].map(([, edition]) => edition as string)
      },
      install: (...names) => run('install', '-y', '--download', 'in-advance', ...names),
      download: (...names) => run('install', '-y', '--download-only', ...names),
      async upgrade() {
        const refreshed = await run('refresh')
        return refreshed.code === 0 ? run('update', '-y', '--download', 'in-advance') : refreshed
      },
      remove: (...names) => run('remove', '-y', ...names),
      async forget() {
        await runAsRoot(['rm', '-rf', ...state.slice(0, 2).map((path) => at(path))], directory)
        await makeDirectories(...state)
      },
    }
  },
}
