// The repository that clients of Sigstore read its trusted root from (TUF): of our own, where npm asks the public one.
// https://theupdateframework.github.io/specification/latest/
import { createHash, generateKeyPairSync, sign } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { canonicalJson } from '../../src/domain/json.ts'
import { startLyingServer } from './lying-server.ts'

const HOST = 'tuf-repo-cdn.sigstore.dev'
const EXPIRES = '2100-01-01T00:00:00Z'

/** Programs of Node that load this module reach our server in place of the public one. */
const redirect = (port: number) => `
const http = require('node:http')
const https = require('node:https')
const real = https.request
https.request = (options, ...more) =>
  (options.hostname ?? options.host) === '${HOST}'
    ? http.request({ ...options, protocol: 'http:', host: '127.0.0.1', hostname: '127.0.0.1', port: ${port}, agent: undefined }, ...more)
    : real(options, ...more)
`

/** @param root the trusted root, in JSON */
export async function startTuf(root: string) {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const hex = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('hex')
  const key = { keytype: 'ed25519', scheme: 'ed25519', keyval: { public: hex } }
  const keyid = createHash('sha256').update(canonicalJson(key)).digest('hex')
  const signed = (type: string, more: object): string => {
    const content = { _type: type, spec_version: '1.0.31', version: 1, expires: EXPIRES, ...more }
    const sig = sign(null, Buffer.from(canonicalJson(content)), privateKey).toString('hex')
    return JSON.stringify({ signatures: [{ keyid, sig }], signed: content })
  }
  const role = { keyids: [keyid], threshold: 1 }
  const roles = { root: role, timestamp: role, snapshot: role, targets: role }
  const sha256 = createHash('sha256').update(root).digest('hex')
  const first = signed('root', { consistent_snapshot: true, keys: { [keyid]: key }, roles })
  const files = new Map([
    ['timestamp.json', signed('timestamp', { meta: { 'snapshot.json': { version: 1 } } })],
    ['1.snapshot.json', signed('snapshot', { meta: { 'targets.json': { version: 1 } } })],
    [
      '1.targets.json',
      signed('targets', { targets: { 'trusted_root.json': { length: Buffer.byteLength(root), hashes: { sha256 } } } }),
    ],
    [`targets/${sha256}.trusted_root.json`, root],
  ])
  const server = await startLyingServer((path, _, response) => {
    const content = files.get(path)
    return content === undefined ? response.writeHead(404).end() : response.writeHead(200).end(content)
  })

  return {
    close: server.close,
    /** Prepares the home of a person who uses npm. @returns the environment that npm needs */
    async prepare(home: string): Promise<Record<string, string>> {
      // What `npm audit signatures` and `npm publish` read.
      for (const caches of ['.npm/_tuf', '.local/share/sigstore-js']) {
        const cache = join(home, caches, HOST)
        await mkdir(cache, { recursive: true })
        await writeFile(join(cache, 'root.json'), first)
      }
      const module = join(home, 'redirect.cjs')
      await writeFile(module, redirect(Number(new URL(server.url).port)))
      return { NODE_OPTIONS: `--require ${module}` }
    },
  }
}
