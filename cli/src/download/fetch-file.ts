// Reads files of a repository, which may hang up, or send something else or without end.
import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { link, rename, rm } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream } from 'node:stream/web'
import { EXITS } from '../exits.ts'
import { failed, Failure, usage } from '../failure.ts'

/** @throws Failure when the address does not answer with the whole file */
export async function readWhole(fetcher: typeof fetch, url: string, signal: AbortSignal): Promise<Buffer> {
  const response = await opened(fetcher, url, signal)
  const bytes = await response.arrayBuffer().catch((error: unknown) => {
    throw brokenOff(url, error)
  })
  return Buffer.from(bytes)
}

/**
 * The file gets its name when it is complete and verified, and takes no name that another file has.
 * @throws Failure
 */
export async function fetchFile(
  fetcher: typeof fetch,
  url: string,
  file: string,
  wanted: { sha256: string; size: number },
  signal: AbortSignal,
): Promise<void> {
  const partial = `${file}.${process.pid}.partial`
  try {
    const { body } = await opened(fetcher, url, signal)
    const hash = createHash('sha256')
    const source = Readable.fromWeb(body as unknown as ReadableStream<Uint8Array>)
    const target = createWriteStream(partial, { flags: 'wx' })
    // fetch says TypeError where the connection is lost; a disk or a signal is not the fault of the address.
    await pipeline(source, measured(url, wanted.size, hash), target, { signal }).catch((error: unknown) => {
      throw error instanceof TypeError ? brokenOff(url, error) : error
    })
    if (hash.digest('hex') !== wanted.sha256) throw otherFile(url)
    await named(partial, file)
  } finally {
    await rm(partial, { force: true })
  }
}

/** Ends at the first byte beyond the size: what never ends must not fill the disk. */
function measured(url: string, size: number, hash: ReturnType<typeof createHash>) {
  return async function* (source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    let read = 0
    for await (const chunk of source) {
      read += chunk.length
      if (read > size) throw otherFile(url)
      hash.update(chunk)
      yield chunk
    }
  }
}

/** It gets no credential. */
async function opened(fetcher: typeof fetch, url: string, signal: AbortSignal): Promise<Response> {
  const response = await fetcher(url, { signal, redirect: 'manual' }).catch((error: unknown) => {
    throw failed(`${url} cannot be read: ${reasonOf(error)}`)
  })
  if (response.status !== 200) throw failed(`${url} answered ${response.status}`)
  return response
}

function otherFile(url: string): Failure {
  const detail = `what ${url} sends is not the file that the API knows`
  return new Failure(EXITS.refused, detail, { code: 'checksum_mismatch', detail })
}

const brokenOff = (url: string, error: unknown) => failed(`the answer of ${url} broke off: ${reasonOf(error)}`)

function reasonOf(error: unknown): string {
  const { message, cause } = error as Error
  return cause instanceof Error ? cause.message : message
}

async function named(partial: string, file: string): Promise<void> {
  try {
    await link(partial, file)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') throw usage(`${file} is there already`)
    // Some file systems have no hard links.
    if (code !== 'EPERM' && code !== 'ENOTSUP' && code !== 'ENOSYS') throw failed(message)
    await rename(partial, file)
  }
}
