// A minimal Debian, made from the packages of the mirror in this machine's apt configuration.
import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, rename, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { need } from './need.ts'

/**
 * Kept between runs because it takes a minute and 60 MB of downloads: copy it, or mount an overlay on it.
 * @returns its directory
 */
export async function debianRoot(suite: 'bookworm' | 'trixie'): Promise<string> {
  need('debootstrap')
  const tools = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'gatehouse')
  const kept = join(tools, `root-${suite}`)
  if (await stat(kept).catch(() => null)) return kept
  await mkdir(tools, { recursive: true })
  const making = await mkdtemp(join(tools, 'making-'))
  execFileSync('debootstrap', ['--variant=minbase', suite, making, debianMirror()], {
    stdio: ['ignore', 'ignore', 'pipe'],
    maxBuffer: 1 << 28,
  })
  await rename(making, kept)
  return kept
}

/** @returns the address in this machine's apt configuration */
export function debianMirror(): string {
  const [mirror] = execFileSync('apt-get', ['indextargets', '--format', '$(REPO_URI)', 'Codename: bookworm'])
    .toString()
    .split('\n')
  if (!mirror) throw new Error('this machine knows no mirror of Debian')
  return mirror
}
