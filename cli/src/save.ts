// Writes an answer to a file or to standard output as it arrives.
import { createWriteStream } from 'node:fs'
import { once } from 'node:events'
import { rename, rm } from 'node:fs/promises'
import { Readable, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream } from 'node:stream/web'

/** @param file written under a temporary name and renamed at the end, so that half of it never has the name */
export async function save(response: Response, file: string | undefined, output: Writable): Promise<void> {
  const body = Readable.fromWeb((response.body ?? new Blob([]).stream()) as unknown as ReadableStream<Uint8Array>)
  if (file === undefined) {
    for await (const chunk of body) if (!output.write(chunk)) await once(output, 'drain')
    return
  }
  const partial = `${file}.partial`
  try {
    await pipeline(body, createWriteStream(partial))
    await rename(partial, file)
  } catch (error) {
    await rm(partial, { force: true })
    throw error
  }
}
