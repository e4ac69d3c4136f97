// xz and lzma streams, a bounded amount at a time.
import { setImmediate } from 'node:timers/promises'
import { createDecoder, IN_BYTES, LZMA, type Decoder } from './liblzma.ts'
import { invalid } from './limits.ts'

// `xz -9` needs 65 MiB; a header may ask for 4 GiB.
const MEMORY_LIMIT = 100 * 1024 * 1024
/** Bytes of output between two turns of the event loop. */
const TURN_BYTES = 1024 * 1024
/** Properties, dictionary size and length of a .lzma stream. */
const HEADER_BYTES = 13
const LEAST_DICTIONARY = 4096
/** Up to this first byte liblzma takes a stream for .lzma; an xz stream begins with a larger byte. */
const MOST_PROPERTIES = 224

/**
 * @param kind `xz` reads all streams of a file and their padding (xz-file-format 1.1.0, section 2), `lzma` the one
 *   stream of the old format
 * @throws Problem('invalid_package') for damaged, truncated and trailing bytes
 */
export async function* unlzma(source: AsyncIterable<Uint8Array>, kind: 'xz' | 'lzma'): AsyncGenerator<Uint8Array> {
  const decoder = await createDecoder(kind, MEMORY_LIMIT)
  const state = { ended: false, turn: 0 }
  try {
    for await (const chunk of kind === 'xz' ? source : withRoundSize(source)) {
      for (let at = 0; at < chunk.length; at += IN_BYTES) {
        if (state.ended) throw trailing(kind)
        decoder.put(chunk.subarray(at, at + IN_BYTES))
        yield* run(decoder, kind, LZMA.run, state)
        if (decoder.left() > 0) throw trailing(kind)
      }
    }
    if (!state.ended) yield* run(decoder, kind, LZMA.finish, state)
    if (!state.ended) throw damage(kind, LZMA.truncated)
  } finally {
    decoder.close()
  }
}

/**
 * Rounds the dictionary size up: liblzma recognises .lzma only by sizes of 2^n or 2^n + 2^(n-1). Every size is valid, and a
 * larger dictionary decodes the same.
 */
async function* withRoundSize(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let held: Buffer | null = Buffer.alloc(0)
  for await (const chunk of source) {
    if (held === null) {
      yield chunk
      continue
    }
    held = Buffer.concat([held, chunk])
    if (held.length < HEADER_BYTES) continue
    const size = held.readUInt32LE(1)
    if (size > MEMORY_LIMIT) throw damage('lzma', LZMA.memoryLimit)
    if (held[0]! > MOST_PROPERTIES) throw damage('lzma', -1)
    const power = 2 ** Math.ceil(Math.log2(Math.max(size, LEAST_DICTIONARY)))
    held.writeUInt32LE(size <= 0.75 * power ? 0.75 * power : power, 1)
    yield held
    held = null
  }
  if (held !== null) throw damage('lzma', LZMA.truncated)
}

/** Decodes the input so far, or the rest at its end. */
async function* run(
  decoder: Decoder,
  kind: 'xz' | 'lzma',
  action: number,
  state: { ended: boolean; turn: number },
): AsyncGenerator<Uint8Array> {
  for (;;) {
    const { code, output } = decoder.step(action)
    if (output.length > 0) yield output
    state.ended = code === LZMA.end
    if (state.ended) return
    // Returned by a step that neither takes input nor gives output: everything possible was decoded.
    if (code === LZMA.truncated && action === LZMA.run) return
    if (code !== LZMA.ok) throw damage(kind, code)
    if (decoder.left() === 0 && output.length === 0 && action === LZMA.run) return
    if ((state.turn += output.length) < TURN_BYTES) continue
    state.turn = 0
    await setImmediate()
  }
}

const trailing = (kind: string) => invalid(`the ${kind} data is followed by other bytes`)

function damage(kind: string, code: number) {
  if (code === LZMA.memoryLimit || code === LZMA.noMemory)
    return invalid(`the ${kind} data needs more memory than is allowed`)
  if (code === LZMA.truncated) return invalid(`the ${kind} data is truncated`)
  return invalid(`the ${kind} data is damaged`)
}
