// `fetch` behind proxies and with the certificates of a company.
import { readFile } from 'node:fs/promises'
import { rootCertificates } from 'node:tls'
import { EnvHttpProxyAgent, fetch as undiciFetch } from 'undici'
import { usage } from './failure.ts'

/** Answers about scans of large packages, and backups, take long. */
const ANSWER_MS = 30 * 60_000

/** @param caFile PEM file with certificates that are trusted in addition to the public ones */
export async function createFetch(
  env: Readonly<Record<string, string | undefined>>,
  caFile: string | undefined,
): Promise<typeof fetch> {
  const ca = caFile === undefined ? undefined : [...rootCertificates, await readPem(caFile)]
  const tls = ca ? { connect: { ca }, requestTls: { ca }, proxyTls: { ca } } : {}
  const dispatcher = new EnvHttpProxyAgent({
    ...tls,
    httpProxy: env['http_proxy'] || env['HTTP_PROXY'] || '',
    httpsProxy: env['https_proxy'] || env['HTTPS_PROXY'] || '',
    noProxy: env['no_proxy'] || env['NO_PROXY'] || '',
    headersTimeout: ANSWER_MS,
    bodyTimeout: ANSWER_MS,
  })
  return ((url: string, init: object) => undiciFetch(url, { ...init, dispatcher })) as unknown as typeof fetch
}

async function readPem(path: string): Promise<string> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw usage(`--ca-file cannot be read: ${(error as Error).message}`)
  })
  if (!text.includes('-----BEGIN CERTIFICATE-----')) throw usage(`--ca-file has no certificate: ${path}`)
  return text
}
