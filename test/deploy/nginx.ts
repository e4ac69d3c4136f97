// A real nginx with the files of deploy/nginx, with the ports, addresses and paths of the test.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { connect, createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { selfSigned } from '../fakes/certificate.ts'
import type { Service } from '../service.ts'

const FILES = join(import.meta.dirname, '../../deploy/nginx')

export interface Nginx {
  /** addresses of the servers, by what they lead to; those with TLS are named `localhost` */
  urls: Record<'console' | 'api' | 'aptTls' | 'rpmTls' | 'apt' | 'rpm', string>
  /** the certificate of all servers, which is its own authority */
  certificate: { pem: string; path: string }
  /** content of one of its logs of files; empty while there is none */
  log(name: 'gatehouse-apt-files.log' | 'gatehouse-rpm-files.log'): Promise<string>
  stop(): Promise<void>
}

/**
 * @param fromDisk whether to uncomment the lines that let nginx send packages itself
 * @param authority PEM of the authority whose client certificates are accepted; left out: none is asked for
 */
export async function startNginx(
  service: Service,
  { fromDisk, authority }: { fromDisk: boolean; authority?: string },
): Promise<Nginx> {
  const directory = await mkdtemp(join(tmpdir(), 'nginx-'))
  const at = (...path: string[]) => join(directory, ...path)
  // The workers run as another user than the owner of the directory.
  await chmod(directory, 0o755)
  await cp(FILES, directory, { recursive: true })
  for (const path of ['tls', 'temporary', 'logs']) await mkdir(at(path))
  const { key, cert } = selfSigned('localhost')
  await writeFile(at('tls/gatehouse.key'), key)
  await writeFile(at('tls/gatehouse.crt'), cert)

  const [front, api, aptTls, rpmTls, apt, rpm] = (await freePorts(6)) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ]
  const tlsPorts = [front, api, aptTls, rpmTls]
  await rewrite(at('conf.d/gatehouse.conf'), [
    ...tlsPorts.flatMap((port) => loopback('443', ' ssl http2', port)),
    ...loopback('80', '', apt),
    ...loopback('8080', '', rpm),
    // The names of console and API on port 80.
    ...loopback('80', '', apt),
    ...loopback('80', '', apt),
  ])
  await rewrite(at('conf.d/gatehouse-upstreams.conf'), [
    ['server 127.0.0.1:8000;', `server ${hostOf(service.api)};`],
    ['server 127.0.0.1:3003;', `server ${hostOf(service.console)};`],
    ['server 127.0.0.1:8010;', `server ${hostOf(service.apt)};`],
    ['server 127.0.0.1:8011;', `server ${hostOf(service.rpm)};`],
  ])
  await rewrite(at('snippets/gatehouse-tls.conf'), [
    ['/etc/nginx/tls/gatehouse.crt', at('tls/gatehouse.crt')],
    ['/etc/nginx/tls/gatehouse.key', at('tls/gatehouse.key')],
  ])
  if (authority !== undefined) {
    await writeFile(at('tls/machines-ca.crt'), authority)
    await rewrite(at('snippets/gatehouse-tls.conf'), [
      ['#ssl_client_certificate /etc/nginx/tls', `ssl_client_certificate ${at('tls')}`],
      ['#ssl_verify_client', 'ssl_verify_client'],
    ])
  }
  for (const [format, root] of [
    ['apt', service.reposDir],
    ['rpm', join(service.reposDir, 'rpm')],
  ] as const) {
    const name = `gatehouse-${format}-files`
    if (fromDisk)
      await rewrite(at(`snippets/gatehouse-${format}.conf`), [
        [`#include snippets/${name}`, `include snippets/${name}`],
      ])
    await rewrite(at(`snippets/${name}.conf`), [
      [format === 'apt' ? 'root /repos;' : 'root /repos/rpm;', `root ${root};`],
      [`/var/log/nginx/${name}.log`, at(`logs/${name}.log`)],
    ])
  }
  await writeFile(at('nginx.conf'), await mainConfiguration(directory))

  const child = spawn('nginx', ['-p', directory, '-c', 'nginx.conf', '-e', at('logs/error.log')], {
    stdio: ['ignore', 'inherit', 'pipe'],
    env: { PATH: `${process.env['PATH']}:/usr/sbin:/sbin` },
  })
  let complaints = ''
  child.stderr.on('data', (piece) => (complaints += String(piece)))
  const exited = once(child, 'exit')
  const ended = exited.then(([code]) => {
    throw new Error(`nginx ended with ${code}:\n${complaints}`)
  })
  ended.catch(() => {})
  for (const port of [...tlsPorts, apt, rpm]) while (!(await Promise.race([accepts(port), ended])));

  return {
    urls: {
      console: `https://localhost:${front}`,
      api: `https://localhost:${api}`,
      aptTls: `https://localhost:${aptTls}`,
      rpmTls: `https://localhost:${rpmTls}`,
      apt: `http://127.0.0.1:${apt}`,
      rpm: `http://127.0.0.1:${rpm}`,
    },
    certificate: { pem: cert, path: at('tls/gatehouse.crt') },
    log: (name) => readFile(at('logs', name), 'utf8').catch(() => ''),
    async stop() {
      child.kill('SIGTERM')
      await exited
      await rm(directory, { recursive: true, force: true })
    },
  }
}

type Replacement = [from: string, to: string]

/** A server's port on this machine only, for IPv4 and for IPv6. */
const loopback = (port: string, more: string, to: number): Replacement[] => [
  [`listen ${port}${more};`, `listen 127.0.0.1:${to}${more};`],
  [`listen [::]:${port}${more};`, `listen [::1]:${to}${more};`],
]

/** Replaces the first occurrence of each text. @throws when a file of deploy/nginx no longer contains it */
async function rewrite(path: string, replacements: readonly Replacement[]): Promise<void> {
  let text = await readFile(path, 'utf8')
  for (const [from, to] of replacements) {
    if (!text.includes(from)) throw new Error(`${path} does not contain ${from}`)
    text = text.replace(from, to)
  }
  await writeFile(path, text)
}

/** The content of a distribution's own nginx.conf around the files of conf.d. */
async function mainConfiguration(directory: string): Promise<string> {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `  ${name}_temp_path ${join(directory, 'temporary', name)};`,
  )
  const parts = (await readdir(join(directory, 'conf.d'))).map((name) => `  include conf.d/${name};`)
  return [
    ...(process.getuid?.() === 0 ? ['user www-data;'] : []),
    'daemon off;',
    `pid ${join(directory, 'pid')};`,
    'worker_processes 2;',
    'events { worker_connections 256; }',
    'http {',
    '  default_type application/octet-stream;',
    ...temporary,
    ...parts,
    '}',
    '',
  ].join('\n')
}

const hostOf = (url: string) => new URL(url).host

/** Ports that were free at the same time, so that no two are the same. */
async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'))
  await Promise.all(servers.map((server) => once(server, 'listening')))
  const ports = servers.map((server) => (server.address() as AddressInfo).port)
  await Promise.all(servers.map((server) => once(server.close(), 'close')))
  return ports
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => setTimeout(() => resolve(false), 20))
  })
}
