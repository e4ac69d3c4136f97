// xz and lzma streams through liblzma, a bounded amount at a time.
import lzma from 'lzma-native'
import { invalid } from './limits.ts'

// lzma-native's own stream is not used: it splits its input at every `YZ`, so that a hostile file costs a round trip to
// the thread pool for each, it ignores what follows a .lzma stream, and it has no back-pressure. This object has.
interface NativeStream {
  streamDecoder_(memoryLimit: number, flags: number): void
  aloneDecoder_(memoryLimit: number): void
  code(chunk: Uint8Array | null, async: boolean): void
  resetUnderlying(): void
  bufferHandler: (
    output: Uint8Array | null | undefined,
    taken: number | undefined,
    error: unknown,
    totalIn: number | null,
  ) => void
}
const { Stream, CONCATENATED } = lzma as unknown as { Stream: new () => NativeStream; CONCATENATED: number }

// The output of a step is held in memory, and LZMA turns one byte into up to 7,000: the more comes out, the less goes in.
// Steps of 4 KiB take no longer than 8 KiB (60 MB, November 2026) and hold 28 MB at most.
const MOST_STEP_BYTES = 4 * 1024
const LEAST_STEP_BYTES = 128
const WANTED_OUTPUT_BYTES = 1024 * 1024
// `xz -9` needs 65 MiB; a header may ask for 4 GiB.
const MEMORY_LIMIT = 100 * 1024 * 1024

interface Step {
  output: Uint8Array[]
  ended: boolean
  error: unknown
  totalIn: number
}

/**
 * @param kind `xz` reads all streams of a file and their padding (xz-file-format 1.1.0, section 2), `lzma` the one
 *   stream of the old format
 * @throws Problem('invalid_package') for damaged, truncated and trailing bytes
 */
export async function* unlzma(source: AsyncIterable<Uint8Array>, kind: 'xz' | 'lzma'): AsyncGenerator<Uint8Array> {
  const native = new Stream()
  if (kind === 'xz') native.streamDecoder_(MEMORY_LIMIT, CONCATENATED)
  else native.aloneDecoder_(MEMORY_LIMIT)
  let fed = 0
  let stepBytes = LEAST_STEP_BYTES
  let ended = false
  let totalIn = 0
  try {
    for await (const chunk of source) {
      for (let at = 0; at < chunk.length;) {
        if (ended) throw invalid(`the ${kind} data is followed by other bytes`)
        const piece = chunk.subarray(at, at + stepBytes)
        at += piece.length
        fed += piece.length
        const step = await run(native, piece)
        const outputBytes = step.output.reduce((sum, { length }) => sum + length, 0)
        stepBytes = Math.min(
          MOST_STEP_BYTES,
          Math.max(LEAST_STEP_BYTES, outputBytes > WANTED_OUTPUT_BYTES ? stepBytes >> 3 : stepBytes << 1),
        )
        yield* step.output
        if (step.error) throw damage(kind, step.error)
        ;({ ended, totalIn } = step)
      }
    }
    if (!ended) {
      const step = await run(native, null)
      yield* step.output
      if (step.error || !step.ended) throw damage(kind, step.error)
      totalIn = step.totalIn
    }
    if (totalIn !== fed) throw invalid(`the ${kind} data is followed by other bytes`)
  } finally {
    native.resetUnderlying()
  }
}

/** Decodes one piece on the thread pool; null ends the input. */
function run(native: NativeStream, piece: Uint8Array | null): Promise<Step> {
  return new Promise((resolve) => {
    const step: Step = { output: [], ended: false, error: null, totalIn: 0 }
    native.bufferHandler = (output, taken, error, totalIn) => {
      if (output) step.output.push(output)
      else if (output === null) {
        step.error = error
        step.ended = !error
      }
      if (totalIn !== null) step.totalIn = totalIn
      // The end is reported before the count of chunks, in the same turn of the loop.
      if (output === null || taken !== undefined) setImmediate(resolve, step)
    }
    native.code(piece, true)
  })
}

function damage(kind: string, error: unknown) {
  const name = (error as { name?: string } | null)?.name ?? ''
  if (name === 'LZMA_MEMLIMIT_ERROR') return invalid(`the ${kind} data needs more memory than is allowed`, error)
  if (name === 'LZMA_BUF_ERROR') return invalid(`the ${kind} data is truncated`, error)
  return invalid(`the ${kind} data is damaged`, error)
}
