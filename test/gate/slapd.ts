// A real slapd with a few people and groups, on separate ports.
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { selfSigned } from '../fakes/certificate.ts'
import { need } from '../need.ts'
import { accepts, freePort } from '../ports.ts'

export const BASE = 'dc=example,dc=test'
export const SERVICE = { dn: `uid=svc,ou=people,${BASE}`, password: 'Svc-pass-1' }
const ADMIN = { dn: `cn=admin,${BASE}`, password: 'adminpw' }

export interface Slapd {
  port: number
  tlsPort: number
  /** PEM file of the certificate that the server presents */
  certificate: string
  start(): Promise<void>
  kill(): Promise<void>
  /** Stops the process without ending it: connections are accepted, but nothing is answered. */
  pause(): void
  resume(): void
  /** Applies LDIF changes. */
  modify(ldif: string): void
  remove(): Promise<void>
}

/** @param people the names that log in; the password of each is `Ldap-pass-1` */
export async function startSlapd(ldif: string): Promise<Slapd> {
  need('slapd', 'ldap-utils')
  const directory = await mkdtemp(join(tmpdir(), 'slapd-'))
  await mkdir(join(directory, 'db'))
  const { cert, key } = selfSigned('localhost')
  const certificate = join(directory, 'cert.pem')
  await writeFile(certificate, cert)
  await writeFile(join(directory, 'key.pem'), key)
  const config = join(directory, 'slapd.conf')
  await writeFile(config, configuration(directory))
  const initial = join(directory, 'initial.ldif')
  await writeFile(initial, ldif)
  run('/usr/sbin/slapadd', ['-f', config, '-l', initial])
  const [port, tlsPort] = [await freePort(), await freePort()]
  let server: ChildProcess | null = null
  const slapd: Slapd = {
    port,
    tlsPort,
    certificate,
    async start() {
      const urls = `ldap://127.0.0.1:${port} ldaps://127.0.0.1:${tlsPort}`
      // With -d it stays in the foreground.
      server = spawn('/usr/sbin/slapd', ['-f', config, '-h', urls, '-d', '0'], { stdio: 'ignore' })
      while (!(await accepts(port)) || !(await accepts(tlsPort)));
    },
    async kill() {
      if (!server || server.exitCode !== null || server.signalCode !== null) return
      const ended = once(server, 'exit')
      server.kill('SIGKILL')
      await ended
    },
    pause: () => void server?.kill('SIGSTOP'),
    resume: () => void server?.kill('SIGCONT'),
    modify: (changes) =>
      run('ldapmodify', ['-x', '-H', `ldap://127.0.0.1:${port}`, '-D', ADMIN.dn, '-w', ADMIN.password], changes),
    async remove() {
      await slapd.kill()
      await rm(directory, { recursive: true, force: true })
    },
  }
  await slapd.start()
  return slapd
}

function configuration(directory: string): string {
  const schemas = ['core', 'cosine', 'inetorgperson'].map((name) => `include /etc/ldap/schema/${name}.schema`)
  return `${schemas.join('\n')}
modulepath /usr/lib/ldap
moduleload back_mdb
moduleload memberof
TLSCertificateFile ${directory}/cert.pem
TLSCertificateKeyFile ${directory}/key.pem
attributetype ( 1.2.840.113556.1.4.221 NAME 'sAMAccountName' EQUALITY caseIgnoreMatch SUBSTR caseIgnoreSubstringsMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 SINGLE-VALUE )
attributetype ( 1.2.840.113556.1.4.8 NAME 'userAccountControl' EQUALITY integerMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 SINGLE-VALUE )
objectclass ( 1.2.840.113556.1.5.9999 NAME 'adUser' SUP top AUXILIARY MAY ( sAMAccountName $ userAccountControl ) )
# Accepts a bind with a name and no password, as some directories do (RFC 4513, section 5.1.2).
allow bind_anon_dn
database mdb
maxsize 104857600
suffix "${BASE}"
rootdn "${ADMIN.dn}"
rootpw ${ADMIN.password}
directory ${directory}/db
overlay memberof
memberof-group-oc groupOfNames
access to attrs=userPassword by anonymous auth by * none
access to * by users read by anonymous none
`
}

function run(program: string, args: string[], input = ''): void {
  const { status, stderr, error } = spawnSync(program, args, { input, encoding: 'utf8' })
  if (error || status !== 0) throw new Error(`${program} failed: ${error?.message ?? stderr}`)
}
