// The page on FRONTEND_PORT until the console moves in: where everything is, and the lines a client pastes. Reads nothing.
import { createServer, type Server } from 'node:http'
import type { Distribution } from '../domain/package.ts'

export interface FrontPageFacts {
  version: string
  fingerprint: string
  distributions: readonly Distribution[]
  /** how clients of this host reach the listeners, from the Host header of the request */
  addresses(host: string): { api: string; apt: string; rpm: string }
  documentation: boolean
}

export interface FrontPage {
  listen(port: number, host: string): Promise<number>
  close(): Promise<void>
}

export function createFrontPage(facts: () => FrontPageFacts): FrontPage {
  const server: Server = createServer((request, response) => {
    const headers = {
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
    }
    if (request.method !== 'GET' && request.method !== 'HEAD')
      return void response.writeHead(405, { ...headers, allow: 'GET, HEAD' }).end()
    if (request.url !== '/' && !request.url?.startsWith('/?'))
      return void response.writeHead(404, { ...headers, 'content-type': 'text/plain' }).end('not found\n')
    const host = /^\[[0-9a-f:]+\]|^[A-Za-z0-9.-]+/.exec(request.headers.host ?? '')?.[0] ?? 'localhost'
    const page = render(facts(), host)
    response.writeHead(200, { ...headers, 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' })
    response.end(request.method === 'HEAD' ? undefined : page)
  })
  return {
    listen: (port, host) =>
      new Promise((resolve, reject) => {
        server.once('error', reject)
        server.listen(port, host, () => resolve((server.address() as { port: number }).port))
      }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function render(facts: FrontPageFacts, host: string): string {
  const at = facts.addresses(host)
  const rows = facts.distributions
    .map(
      (d) =>
        `<tr><td><code>${escape(d.codename)}</code><td>${escape(d.fullName)}<td>${escape(d.format)}<td>${escape(d.arch)}</tr>`,
    )
    .join('')
  const deb = facts.distributions.find((d) => d.format === 'deb')
  const source = deb
    ? `<h2>An apt client</h2><p>As root, on a machine of that release:</p><pre>curl -fsSo /etc/apt/keyrings/gatehouse.asc ${escape(at.apt)}/repos/gpg.key
cat &gt; /etc/apt/sources.list.d/gatehouse.sources &lt;&lt;EOF
Types: deb
URIs: ${escape(at.apt)}/repos
Suites: ${escape(deb.codename)}
Components: main
Architectures: ${escape(deb.arch)}
Signed-By: /etc/apt/keyrings/gatehouse.asc
EOF
apt-get update</pre>`
    : ''
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Gatehouse</title><style>${STYLE}</style>
<main><h1>Gatehouse</h1><p>A private repository for operating-system packages with a gate in front. Version ${escape(facts.version)}.
The web console is not part of this release; the API does everything.</p>
<h2>Addresses</h2><table><tr><td>API<td><code>${escape(at.api)}/api/v1</code></tr>${
    facts.documentation
      ? `<tr><td>API documentation<td><a href="${escape(at.api)}/docs">${escape(at.api)}/docs</a></tr>`
      : ''
  }<tr><td>apt, apk<td><code>${escape(at.apt)}</code></tr><tr><td>dnf, zypper<td><code>${escape(at.rpm)}</code></tr>
<tr><td>Signing key<td><a href="${escape(at.apt)}/repos/gpg.key">gpg.key</a> <code>${escape(facts.fingerprint)}</code></tr></table>
${source}<h2>Distributions</h2><table><tr><th>Codename<th>Release<th>Format<th>Architecture</tr>${rows}</table></main></html>
`
}

const STYLE =
  ':root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;margin:0}main{max-width:52rem;margin:2rem auto;padding:0 1rem}' +
  'h1{margin-bottom:0}table{border-collapse:collapse}td,th{padding:.2rem 1.2rem .2rem 0;text-align:left;vertical-align:top}' +
  'pre{padding:1rem;overflow:auto;background:color-mix(in srgb,currentColor 8%,transparent);border-radius:6px}code{overflow-wrap:anywhere}'

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
