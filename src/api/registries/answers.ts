// Sends documents and files of repositories, with the conditions of HTTP.
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { PlaceRights } from '../../accounts/readers/place-rights.ts'
import type { Origin } from '../../domain/audit.ts'
import type { Caller } from '../../domain/caller.ts'
import { Problem } from '../../domain/problem.ts'
import { accessOf, type AccessLog } from '../../serve/access-log.ts'
import { answerWithStream, type Exchange, type Part } from '../../serve/files/answers.ts'
import { evaluate, lastModified, validatorsOf } from '../../serve/files/conditions.ts'
import { fileHeaders } from '../../serve/files/file-headers.ts'
import { plainOf, type SentDocument } from '../../serve/registries/registry-reader.ts'
import type { StoredFile } from '../../store/files/listing-files.ts'
import type { FileId, Pool } from '../../store/files/pool.ts'

interface Call {
  raw: FastifyRequest
  reply: FastifyReply
}

/** A document of a name: it may change with the next publish, so clients ask again, and get 304 while it is the same. */
export function sendDocument({ raw, reply }: Call, { media, etag, modifiedAt, gzip }: SentDocument): FastifyReply {
  const now = Date.now()
  const validators = validatorsOf(etag, modifiedAt, now)
  reply.headers({
    etag,
    'last-modified': lastModified(validators, now),
    'cache-control': 'no-cache',
    vary: 'Accept, Accept-Encoding, Authorization',
    'x-content-type-options': 'nosniff',
  })
  const outcome = evaluate(raw.headers, validators, now)
  if (outcome === 'not_modified') return reply.code(304).send()
  if (outcome === 'precondition_failed') return reply.code(412).send()
  reply.type(media)
  if (!acceptsGzip(raw.headers['accept-encoding'])) return reply.send(plainOf({ gzip }))
  return reply.header('content-encoding', 'gzip').send(gzip)
}

/** RFC 9110, section 12.5.3; weights other than 0 make no difference, because there is only one encoding to offer. */
function acceptsGzip(field: string | string[] | undefined): boolean {
  const offers = String(field ?? '')
    .toLowerCase()
    .split(',')
    .map((offer) => offer.trim().split(/\s*;\s*/))
  const named = offers.find(([coding]) => coding === 'gzip') ?? offers.find(([coding]) => coding === '*')
  return named !== undefined && !named.slice(1).some((weight) => /^q=0(\.0*)?$/.test(weight))
}

interface FileCall extends Call {
  caller: Caller | null
  origin: Origin
}

/** Sends the bytes of a file, which never change under its name. @throws Problem('storage_unavailable') when the pool lacks them */
export type SendFile = (call: FileCall, file: FileId, stored: StoredFile) => Promise<undefined>

export interface FileDeps {
  pool: Pool
  /** downloads are counted from it, like those of the listeners */
  accessLog: Pick<AccessLog, 'record'>
  rights: Pick<PlaceRights, 'machineOf'>
}

export const createSendFile =
  (deps: FileDeps): SendFile =>
  async (call, file, listed) => {
    const { raw, reply } = call
    const stored = await deps.pool.open(file, 'pool')
    if (!stored) throw new Problem('storage_unavailable', `the bytes of ${file.filename} are missing`)
    try {
      const reader = await readerOf(deps.rights, call)
      const now = Date.now()
      const validators = validatorsOf(`"${file.sha256}"`, stored.modifiedAt.getTime(), now)
      const { sizeBytes } = listed
      const kind = {
        mediaType: 'application/octet-stream',
        immutable: true,
        cacheControl: 'private, max-age=31536000, immutable',
      }
      const shown = { kind, sizeBytes, validators, headers: fileHeaders(kind, sizeBytes, validators, now) }
      const exchange: Exchange = { request: raw.raw, response: reply.raw, progress: { bytes: 0, lastBytes: 0 }, reader }
      reply.hijack()
      reply.raw.once('close', () => deps.accessLog.record(accessOf(exchange, call.origin.ip ?? '-')))
      await answerWithStream(exchange, shown, now, async (part, isWhole) =>
        isWhole ? stored.stream() : Readable.from(partOf(stored.stream(), part)),
      )
    } finally {
      await stored.close()
    }
    return undefined
  }

/** Tokens have a name of their own; a person's account is nobody's machine, so only the address is logged. */
async function readerOf(rights: FileDeps['rights'], { caller, raw }: FileCall): Promise<string | undefined> {
  if (caller) return caller.kind === 'token' ? caller.name : undefined
  const machine = await rights.machineOf(raw.headers.authorization)
  return machine === null ? undefined : `machine:${machine}`
}

/** Ranges are rare here: clients fetch whole files. So the bytes before the range are read and left out. */
async function* partOf(stream: AsyncIterable<Buffer>, { first, last }: Part): AsyncGenerator<Buffer> {
  let at = 0
  for await (const piece of stream) {
    const from = Math.max(first - at, 0)
    const to = Math.min(last + 1 - at, piece.byteLength)
    if (to > from) yield piece.subarray(from, to)
    at += piece.byteLength
    if (at > last) return
  }
}
