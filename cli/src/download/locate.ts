// Where a repository has a file, as its signed index says.
import { createHash, verify } from 'node:crypto'
import { gunzipSync } from 'node:zlib'
import { EXITS } from '../exits.ts'
import { failed, Failure } from '../failure.ts'
import { isSigned } from './gpgv.ts'
import { apkIndex, inApkIndex, inPackages, inPrimary, inRepomd, releaseFiles, signedText } from './parts.ts'

/** What is looked for: a record of the API. */
export interface Wanted {
  name: string
  version: string
  arch: string
  filename: string
  size: number
  sha256: string
}

export interface Repository {
  codename: string
  /** as clients are told, without a slash at its end; `$basearch` stands for the architecture */
  url: string
  architectures: readonly string[]
  keyUrl: string
  /** @throws Failure when there is no such file */
  get(url: string): Promise<Buffer>
  signal: AbortSignal
}

export interface Located {
  url: string
  /** whether the signature of the index was verified; false when the machine has no gpgv */
  verified: boolean
}

type Locate = (repository: Repository, wanted: Wanted) => Promise<Located>

export const LOCATE: Record<string, Locate> = { deb, rpm, apk }

const refused = (what: string) => new Failure(EXITS.refused, what, { code: 'index_refused', detail: what })
const absent = ({ filename }: Wanted) => failed(`the index does not have ${filename} with the digest of the API`)

/** Architectures whose index may have the file: one that runs everywhere is in all of them. */
function architectureOf({ architectures }: Repository, { arch }: Wanted): string {
  return architectures.includes(arch) ? arch : (architectures[0] ?? arch)
}

async function checked({ get, keyUrl, signal }: Repository, files: readonly Buffer[], what: string): Promise<boolean> {
  const result = await isSigned((await get(keyUrl)).toString(), files, signal)
  if (result === false) throw refused(`${what} is not signed with the key of the service`)
  return result === true
}

/** Loads a file whose digest a signed file states. */
async function listed({ get }: Repository, url: string, sha256: string): Promise<Buffer> {
  const bytes = await get(url)
  if (createHash('sha256').update(bytes).digest('hex') !== sha256)
    throw refused(`${url} is not what the signed index says`)
  return bytes
}

async function deb(repository: Repository, wanted: Wanted): Promise<Located> {
  const { url, codename } = repository
  const suite = `${url}/dists/${codename}`
  const release = await repository.get(`${suite}/InRelease`)
  const verified = await checked(repository, [release], 'InRelease')
  const wantedPath = new RegExp(`^[^/]+/binary-${architectureOf(repository, wanted)}/Packages\\.gz$`)
  for (const { path, sha256 } of releaseFiles(signedText(release.toString()))) {
    if (!wantedPath.test(path)) continue
    // By its digest, because a publish may replace the index in between.
    const byHash = `${suite}/${path.replace(/[^/]+$/, `by-hash/SHA256/${sha256}`)}`
    const filename = inPackages(gunzipSync(await listed(repository, byHash, sha256)).toString(), wanted.sha256)
    if (filename !== null) return { url: `${url}/${filename}`, verified }
  }
  throw absent(wanted)
}

async function rpm(repository: Repository, wanted: Wanted): Promise<Located> {
  const base = repository.url.replace('$basearch', architectureOf(repository, wanted))
  const [index, signature] = [
    await repository.get(`${base}/repodata/repomd.xml`),
    await repository.get(`${base}/repodata/repomd.xml.asc`),
  ]
  const verified = await checked(repository, [signature, index], 'repomd.xml')
  const primary = inRepomd(index.toString(), 'primary')
  if (!primary) throw absent(wanted)
  const text = gunzipSync(await listed(repository, `${base}/${primary.path}`, primary.sha256)).toString()
  const path = inPrimary(text, wanted.sha256)
  if (path === null) throw absent(wanted)
  return { url: `${base}/${path}`, verified }
}

/** The index of apk has no SHA-256 of the file; it has its name, version and size. */
async function apk(repository: Repository, wanted: Wanted): Promise<Located> {
  const { url, get, keyUrl } = repository
  const base = `${url}/${architectureOf(repository, wanted)}`
  const found = apkIndex(await get(`${base}/APKINDEX.tar.gz`))
  const isValid = found && verify('sha256', found.signed, (await get(keyUrl)).toString(), found.signature)
  if (!isValid) throw refused('APKINDEX.tar.gz is not signed with the key of the service')
  if (!inApkIndex(gunzipSync(found.signed).toString(), wanted)) throw absent(wanted)
  return { url: `${base}/${wanted.filename}`, verified: true }
}
