// The page on FRONTEND_PORT until the console is part of the release: addresses, and the set-up command of each distribution.
import { createServer, type Server } from 'node:http'
import type { ClientSetups } from './client-setups.ts'
import { parseHost } from './public-address.ts'

export interface FrontPageFacts {
  version: string
  fingerprint: string
  /** how clients of this host reach the listeners, from the Host header of the request */
  addresses(host: string): { api: string; apt: string; rpm: string }
  documentation: boolean
  setups: ClientSetups
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
    const host = parseHost(request.headers.host)?.host ?? 'localhost'
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
  const rows = facts.setups
    .commands(at)
    .map(
      ({ offered: { distribution, format }, command }) =>
        `<tr><td><code>${escape(distribution.codename)}</code><td>${escape(distribution.fullName)}<td>${escape(format.label)}<td><code>${escape(command)}</code></tr>`,
    )
    .join('')
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
<h2>Distributions</h2><p>Each command sets up one machine of that release.</p>
<table><tr><th>Codename<th>Release<th>Format<th>Command</tr>${rows}</table></main></html>
`
}

const STYLE =
  ':root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;margin:0}main{max-width:52rem;margin:2rem auto;padding:0 1rem}' +
  'h1{margin-bottom:0}table{border-collapse:collapse}td,th{padding:.2rem 1.2rem .2rem 0;text-align:left;vertical-align:top}' +
  'pre{padding:1rem;overflow:auto;background:color-mix(in srgb,currentColor 8%,transparent);border-radius:6px}code{overflow-wrap:anywhere}'

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
