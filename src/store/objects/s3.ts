// An S3-compatible store behind the ObjectStore interface. Loaded only when POOL_URL is set.
import { createHash } from 'node:crypto'
import { open, type FileHandle } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  type S3ClientConfig,
  type CompletedPart,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import { addressOf, type PoolUrl } from '../../config/pool-url.ts'
import { createSemaphore } from '../../kernel/semaphore.ts'
import { RemovalUncertain, type ObjectStore } from './object-store.ts'
import { isMissingObject, mayHaveArrived, onceWhenSilent, unavailable } from './s3-errors.ts'

export interface S3Credentials {
  accessKeyId: string
  secretAccessKey: string
}

/** Larger files are sent in parts of this size: the whole body of a request is in memory, so that a retry can send it again. */
const PART_BYTES = 8 * 1024 * 1024
/** Files sent at the same time, each with one part in memory. */
const UPLOADS_TOGETHER = 4
/** Connections of one process. A request beyond them waits. */
const CONNECTIONS = 128
const ATTEMPTS = 3
const CONNECT_MS = 3_000
/** How long a store may take to join the parts of a large file before it answers. */
const JOIN_MS = 30_000
/** How long to wait for a store that hangs, in milliseconds. */
export interface Patience {
  /** until an answer begins, over all attempts */
  answerMs: number
  /** while an upload makes no progress */
  uploadMs: number
  /** while a store sends no byte of a body, or our client reads none */
  bodyMs: number
}
const PATIENCE: Patience = { answerMs: 10_000, uploadMs: 10_000, bodyMs: 30_000 }
/** A removal must have ended before its claim is void (store/files/placement.ts). */
const REMOVAL_MS = 4_000
const LISTED_TOGETHER = 1_000

export function openS3(
  { bucket, prefix, endpoint, region }: PoolUrl,
  credentials: S3Credentials,
  patience = PATIENCE,
): ObjectStore {
  const name = `s3://${[bucket, prefix].filter(Boolean).join('/')}`
  const handling = {
    connectionTimeout: CONNECT_MS,
    requestTimeout: JOIN_MS,
    throwOnRequestTimeout: true,
    socketTimeout: patience.bodyMs,
    httpAgent: { maxSockets: CONNECTIONS, keepAlive: true },
    httpsAgent: { maxSockets: CONNECTIONS, keepAlive: true },
  }
  const options: S3ClientConfig = {
    region,
    credentials,
    // Stores other than Amazon's rarely have a host name for each bucket.
    ...(endpoint ? { endpoint, forcePathStyle: true } : {}),
    maxAttempts: ATTEMPTS,
    retryMode: 'standard',
    requestHandler: handling,
    // Uploads name their SHA-256; the default would add a second checksum that not every store knows.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  }
  const client = new S3Client(options)
  // With two attempts, the first might still be executed after the second was answered.
  const removing = new S3Client({ ...options, maxAttempts: 1 })
  // A large body may take long as long as it makes progress. A request that hangs is not retried: it would hang three times.
  const uploads = new S3Client({
    ...options,
    requestHandler: { ...handling, requestTimeout: 0, socketTimeout: patience.uploadMs },
  })
  uploads.middlewareStack.add((next) => (request) => next(request).catch(onceWhenSilent), { step: 'deserialize' })
  const uploading = createSemaphore(UPLOADS_TOGETHER)
  const at = (key: string) => ({ Bucket: bucket, Key: prefix ? `${prefix}/${key}` : key })
  const soon = (ms = patience.answerMs) => ({ abortSignal: AbortSignal.timeout(ms) })

  /** @returns null where the store answers that there is no such object */
  async function asked<T>(request: Promise<T>): Promise<T | null> {
    try {
      return await request
    } catch (error) {
      if (isMissingObject(error)) return null
      throw unavailable(name, error)
    }
  }

  async function required<T>(request: Promise<T>): Promise<T> {
    try {
      return await request
    } catch (error) {
      throw unavailable(name, error)
    }
  }

  async function putSmall(key: string, file: FileHandle, size: number, sha256: string): Promise<void> {
    const Body = await read(file, 0, size)
    requireDigest(createHash('sha256').update(Body), sha256)
    await required(uploads.send(new PutObjectCommand({ ...at(key), Body, ChecksumSHA256: base64(sha256) })))
  }

  /** The store verifies each part, and this process the digest of the whole before the parts become an object. */
  async function putParts(key: string, file: FileHandle, size: number, sha256: string): Promise<void> {
    const { UploadId } = await required(
      uploads.send(new CreateMultipartUploadCommand({ ...at(key), ChecksumAlgorithm: 'SHA256' })),
    )
    try {
      const hash = createHash('sha256')
      const Parts: CompletedPart[] = []
      for (let first = 0; first < size; first += PART_BYTES) {
        const Body = await read(file, first, Math.min(PART_BYTES, size - first))
        hash.update(Body)
        const part = {
          PartNumber: Parts.length + 1,
          ChecksumSHA256: createHash('sha256').update(Body).digest('base64'),
        }
        const { ETag } = await required(uploads.send(new UploadPartCommand({ ...at(key), UploadId, Body, ...part })))
        Parts.push({ ...part, ETag })
      }
      requireDigest(hash, sha256)
      await required(
        client.send(new CompleteMultipartUploadCommand({ ...at(key), UploadId, MultipartUpload: { Parts } })),
      )
    } catch (error) {
      // Best effort, without waiting: a lifecycle rule of the store deletes incomplete uploads (docs/scaling.md).
      void client.send(new AbortMultipartUploadCommand({ ...at(key), UploadId }), soon()).catch(() => {})
      throw error
    }
  }

  return {
    name,
    address: addressOf({ bucket, prefix, endpoint, region }),
    put: (key, path, sha256) =>
      uploading(async () => {
        const file = await open(path)
        try {
          const { size } = await file.stat()
          await (size <= PART_BYTES ? putSmall : putParts)(key, file, size, sha256)
        } finally {
          await file.close()
        }
      }),
    async get(key, range) {
      const Range = range && `bytes=${range.first}-${range.last}`
      const begun = new AbortController()
      const timer = setTimeout(() => begun.abort(), patience.answerMs)
      const options = { abortSignal: begun.signal }
      const answer = await asked(client.send(new GetObjectCommand({ ...at(key), Range }), options)).finally(() =>
        clearTimeout(timer),
      )
      if (!answer) return null
      return {
        sizeBytes: answer.ContentLength ?? 0,
        modifiedAt: answer.LastModified ?? new Date(0),
        stream: answer.Body as Readable,
      }
    },
    async size(key) {
      const answer = await asked(client.send(new HeadObjectCommand(at(key)), soon()))
      return answer?.ContentLength ?? null
    },
    async remove(key) {
      try {
        await removing.send(new DeleteObjectCommand(at(key)), soon(REMOVAL_MS))
      } catch (error) {
        if (isMissingObject(error)) return
        const failure = unavailable(name, error)
        throw mayHaveArrived(error) ? new RemovalUncertain(failure.detail) : failure
      }
    },
    async list(within, after) {
      const { Key: Prefix } = at(within)
      const page = {
        Bucket: bucket,
        Prefix,
        StartAfter: after === '' ? undefined : at(after).Key,
        MaxKeys: LISTED_TOGETHER,
      }
      const { Contents = [], IsTruncated } = await required(client.send(new ListObjectsV2Command(page), soon()))
      const objects = Contents.map(({ Key = '', Size = 0 }) => ({
        key: prefix ? Key.slice(prefix.length + 1) : Key,
        sizeBytes: Size,
      }))
      return { objects, isLast: IsTruncated !== true }
    },
    signedUrl: (key, expiresIn, ResponseContentType) =>
      getSignedUrl(client, new GetObjectCommand({ ...at(key), ResponseContentType }), { expiresIn }),
    async check() {
      await required(client.send(new HeadBucketCommand({ Bucket: bucket }), soon()))
    },
    close() {
      client.destroy()
      removing.destroy()
      uploads.destroy()
    },
  }
}

const base64 = (hex: string) => Buffer.from(hex, 'hex').toString('base64')

function requireDigest(hash: ReturnType<typeof createHash>, sha256: string): void {
  if (hash.digest('hex') !== sha256) throw new Error(`a file to be stored no longer has the SHA-256 ${sha256}`)
}

async function read(file: FileHandle, first: number, length: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(length)
  for (let filled = 0; filled < length;) {
    const { bytesRead } = await file.read(bytes, filled, length - filled, first + filled)
    if (bytesRead === 0) throw new Error('a file to be stored became shorter')
    filled += bytesRead
  }
  return bytes
}
