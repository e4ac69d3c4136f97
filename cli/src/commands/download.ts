// download: package files, verified against the API and the signed index.
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import type { AnswerOf, Client } from 'gatehouse-client'
import { FLAGS, type Command, type Context, type Given } from '../command.ts'
import { fetchFile, readWhole } from '../download/fetch-file.ts'
import { LOCATE, type Located } from '../download/locate.ts'
import { repositoryIn } from '../download/parts.ts'
import { EXITS } from '../exits.ts'
import { failed, Failure, need, notFound, usage } from '../failure.ts'
import { FORMAT, FORMATS } from './packages.ts'
import { namedVersion, ONE_VERSION } from '../named-package.ts'
import { sizeText } from '../spans.ts'
import { plain } from '../terminal.ts'

type Version = AnswerOf<'GET /artifacts/{name}'>['versions'][number]

async function download(context: Context, given: Given) {
  const { terminal } = context
  const client = await context.client()
  const record = await recordOf(context, client, given)
  // The name of a server must not lead out of the directory.
  const file = given.text('output') ?? basename(record.filename)
  const present = await digestOf(file)
  if (present !== null && present !== record.sha256) throw usage(`${file} is there already, with other content`)
  if (present === null) {
    const fetcher = await context.access.fetch()
    const located = await locate(context, client, fetcher, record)
    if (!located.verified)
      terminal.complain('warning: this machine has no gpgv, so the signature of the index was not verified')
    await fetchFile(fetcher, located.url, file, { sha256: record.sha256, size: record.size_bytes }, context.signal)
    report(context, record, file, located.verified)
  } else report(context, record, file, null)
  return EXITS.done
}

function report({ terminal, json }: Context, record: Version, file: string, verified: boolean | null): void {
  const { name, version, arch, distribution, sha256, size_bytes: size } = record
  if (json)
    terminal.document({
      file,
      package: name,
      version,
      arch,
      distribution,
      sha256,
      size_bytes: size,
      index_verified: verified,
    })
  else terminal.print([file, sizeText(size), sha256].map(plain).join('\t'))
}

/** The one file that is meant. @throws Failure when there is none, or there are several */
async function recordOf({ signal }: Context, client: Client, given: Given): Promise<Version> {
  const { name, version } = namedVersion(given)
  const query = {
    ...{ version, distribution: given.text('distribution'), arch: given.text('arch') },
    format: given.text('format') as (typeof FORMATS)[number] | undefined,
  }
  const { versions } = need(await client.call('GET /artifacts/{name}', { params: { name }, query, signal }))
  const here = versions.filter((one) => one.version === version)
  const served = here.filter((one) => one.served)
  const [first] = served
  if (!here[0]) throw notFound(`there is no ${name}@${version}; \`gatehouse show ${name}\` lists what there is`)
  if (!first) {
    const detail = `${name}@${version} is ${here[0].status} and is not served`
    throw new Failure(EXITS.refused, detail, { code: 'not_published', detail })
  }
  if (served.some((one) => one.sha256 !== first.sha256)) {
    const places = served.map((one) => `${one.format} ${one.arch} in ${one.distribution}`).join(', ')
    throw usage(`${name}@${version} has several files: ${places}; say which with --format, -d and --arch`)
  }
  return first
}

/** SHA-256 of a file; null when there is none. */
async function digestOf(path: string): Promise<string | null> {
  const info = await stat(path).catch(() => null)
  if (!info) return null
  if (!info.isFile()) throw usage(`${path} is no regular file`)
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer)
  return hash.digest('hex')
}

async function locate(context: Context, client: Client, fetcher: typeof fetch, record: Version): Promise<Located> {
  const { signal } = context
  const codename = record.distribution
  const setup = need(await client.call('GET /distributions/{codename}/setup', { params: { codename }, signal }))
  const { distributions } = need(await client.call('GET /distributions', { signal }))
  const url = repositoryIn(setup.file.content)
  const find = LOCATE[record.format]
  if (url === null || !find) throw failed(`this command does not know repositories of ${record.format}`)
  return find(
    {
      ...{ codename, url, signal, keyUrl: setup.key_url },
      architectures: distributions.find((one) => one.codename === codename)?.architectures ?? [],
      get: (address) => readWhole(fetcher, address, signal),
    },
    { ...record, size: record.size_bytes },
  )
}

export const downloadCommands: readonly Command[] = [
  {
    name: 'download',
    summary: 'Fetch the file of a version from its repository, and verify it',
    details:
      'Its SHA-256 must be that of the API, and the signed index must have it; for the signatures of deb and rpm repositories the machine needs gpgv. A file that is there already is not overwritten.',
    arguments: ONE_VERSION,
    flags: [
      FORMAT,
      FLAGS.distribution,
      FLAGS.arch,
      { ...FLAGS.output, summary: 'write to this file; by default the name it has in the repository' },
    ],
    run: download,
  },
]
