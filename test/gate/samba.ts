// A real Active Directory domain controller (Samba), which only serves LDAP, at a separate address, because its ports are fixed.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { need } from '../need.ts'
import { accepts } from '../ports.ts'

export const AD_BASE = 'DC=example,DC=test'
const ADDRESS = '127.0.0.7'
const LDAPS = 636

export interface DomainController {
  host: string
  port: number
  tlsPort: number
  /** runs `samba-tool` on the domain */
  tool(...words: string[]): void
  remove(): Promise<void>
}

export async function startDomainController(): Promise<DomainController> {
  need('samba-ad-dc', 'samba-ad-provision')
  const directory = await mkdtemp(join(tmpdir(), 'samba-'))
  const configuration = `--configfile=${join(directory, 'etc', 'smb.conf')}`
  const tool = (...words: string[]) => {
    execFileSync('samba-tool', words, { stdio: 'pipe' })
  }
  const domain = ['--realm=EXAMPLE.TEST', '--domain=EXAMPLE', '--server-role=dc', '--dns-backend=NONE']
  tool('domain', 'provision', ...domain, '--adminpass=Passw0rd!x', `--targetdir=${directory}`)
  const options = ['server services=ldap', 'bind interfaces only=yes', `interfaces=${ADDRESS}/8`]
  const server = spawn('samba', ['-i', configuration, ...options.map((option) => `--option=${option}`)], {
    stdio: 'ignore',
    // Its processes answer in a separate group, and end with the group.
    detached: true,
  })
  const ended = once(server, 'exit')
  while (!(await accepts(LDAPS, ADDRESS)))
    if (server.exitCode !== null) throw new Error(`samba ended with ${server.exitCode}`)
  return {
    ...{ host: ADDRESS, port: 389, tlsPort: LDAPS },
    tool: (...words) => tool(...words, configuration),
    async remove() {
      process.kill(-(server.pid as number), 'SIGKILL')
      await ended
      await rm(directory, { recursive: true, force: true })
    },
  }
}
