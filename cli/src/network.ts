// `fetch` behind proxies and with the certificates of a company.
import { readFile } from 'node:fs/promises'
import { rootCertificates } from 'node:tls'
import { EnvHttpProxyAgent, fetch as undiciFetch } from 'undici'
import { usage } from './failure.ts'
import { needsHttps, speaksTls, tlsMistake, type Thrown } from './tls.ts'

/** Answers about scans of large packages, and backups, take long. */
const ANSWER_MS = 30 * 60_000

/** @param caFile PEM file with certificates that are trusted in addition to the public ones */
export async function createFetch(
  env: Readonly<Record<string, string | undefined>>,
  caFile: string | undefined,
): Promise<typeof fetch> {
  const ca = caFile === undefined ? undefined : [...rootCertificates, await readPem(caFile)]
  const tls = ca ? { connect: { ca }, requestTls: { ca }, proxyTls: { ca } } : {}
  const httpProxy = env['http_proxy'] || env['HTTP_PROXY'] || ''
  const dispatcher = new EnvHttpProxyAgent({
    ...tls,
    httpProxy,
    httpsProxy: env['https_proxy'] || env['HTTPS_PROXY'] || '',
    noProxy: env['no_proxy'] || env['NO_PROXY'] || '',
    headersTimeout: ANSWER_MS,
    bodyTimeout: ANSWER_MS,
  })
  const send = undiciFetch as unknown as typeof fetch
  return (async (address: string, init: RequestInit = {}) => {
    const url = new URL(address)
    const mayBeTls = () => url.protocol === 'http:' && !httpProxy && speaksTls(url)
    try {
      const response = await send(address, { ...init, dispatcher } as RequestInit)
      // A server of HTTPS answers plain HTTP with 400 and a page, or with the end of the connection.
      const isPage = response.status === 400 && !response.headers.get('content-type')?.includes('json')
      if (!isPage || !(await mayBeTls())) return response
    } catch (error) {
      const thrown = ((error as Error).cause ?? error) as Thrown
      const mistake = tlsMistake(thrown, url, new Date())
      if (mistake) throw Object.assign(new Error(mistake), { code: thrown.code })
      if (!NO_HTTP.test(thrown.code ?? '') || init.signal?.aborted || !(await mayBeTls())) throw error
    }
    throw Object.assign(new Error(needsHttps(url)), { code: 'ERR_TLS_NEEDED' })
  }) as typeof fetch
}

/** How a connection ends when the other side did not understand the request, or its answer is no HTTP. */
const NO_HTTP = /^(UND_ERR_SOCKET|ECONNRESET|EPIPE|HPE_\w+)$/

async function readPem(path: string): Promise<string> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw usage(`--ca-file cannot be read: ${(error as Error).message}`)
  })
  if (!text.includes('-----BEGIN CERTIFICATE-----')) throw usage(`--ca-file has no certificate: ${path}`)
  return text
}
