// Decodes zstd frames with zstddec's WebAssembly module, with a private memory for each stream.
import { ZSTDDecoder } from 'zstddec/stream'
import { invalid } from './limits.ts'

interface Zstd {
  memory: { readonly buffer: ArrayBuffer }
  malloc(size: number): number
  ZSTD_createDCtx(): number
  ZSTD_decompressStream(context: number, output: number, input: number): number
}

// Only the compiled module is taken from zstddec. Its own decoder shares one memory among all streams, never frees the memory
// of an abandoned stream, and ignores error codes, so that it loops for ever on a damaged file.
let compiled: Promise<object> | undefined

async function createZstd(): Promise<Zstd> {
  compiled ??= compile()
  const { Instance } = (globalThis as unknown as { WebAssembly: WebAssemblyApi }).WebAssembly
  const instance = new Instance(await compiled, { env: { emscripten_notify_memory_growth: () => {} } })
  return instance.exports as Zstd
}

interface WebAssemblyApi {
  Instance: new (module: object, imports: object) => { exports: unknown }
}

function compile(): Promise<object> {
  return new Promise((resolve, reject) => {
    class Module extends ZSTDDecoder {
      override _init(result: unknown): void {
        resolve((result as { module: object }).module)
      }
    }
    new Module().init().catch(reject)
  })
}

const IN_BYTES = 128 * 1024
const OUT_BYTES = 128 * 1024

/**
 * All frames of a zstd file (RFC 8878) without the skippable ones; checksums are verified.
 * @throws Problem('invalid_package') for damaged, truncated and trailing bytes, and for windows above 128 MiB
 */
export async function* unzstd(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const zstd = await createZstd()
  const input = { at: zstd.malloc(IN_BYTES), struct: zstd.malloc(12) }
  const output = { at: zstd.malloc(OUT_BYTES), struct: zstd.malloc(12) }
  const context = zstd.ZSTD_createDCtx()
  // The buffer object changes whenever the memory grows.
  const words = () => new DataView(zstd.memory.buffer)
  // What decompressStream returns: 0 between frames, else a hint above 0, else an error.
  let state = -1

  for await (const chunk of source) {
    for (let from = 0; from < chunk.length; from += IN_BYTES) {
      const piece = chunk.subarray(from, from + IN_BYTES)
      new Uint8Array(zstd.memory.buffer).set(piece, input.at)
      setBuffer(words(), input.struct, input.at, piece.length)
      for (let full = false; full || words().getUint32(input.struct + 8, true) < piece.length;) {
        setBuffer(words(), output.struct, output.at, OUT_BYTES)
        const before = words().getUint32(input.struct + 8, true)
        state = zstd.ZSTD_decompressStream(context, output.struct, input.struct)
        if (isError(state)) throw invalid('the zstd data is damaged')
        const size = words().getUint32(output.struct + 8, true)
        if (size === 0 && words().getUint32(input.struct + 8, true) === before && !full)
          throw invalid('the zstd data is damaged')
        if (size > 0) yield new Uint8Array(zstd.memory.buffer, output.at, size).slice()
        // A full output buffer may hide more that is ready without further input.
        full = size === OUT_BYTES && state !== 0
      }
    }
  }
  if (state !== 0) throw invalid('the zstd data is truncated')
}

/** ZSTD_inBuffer and ZSTD_outBuffer: address, size, position. */
function setBuffer(words: DataView, struct: number, address: number, size: number): void {
  words.setUint32(struct, address, true)
  words.setUint32(struct + 4, size, true)
  words.setUint32(struct + 8, 0, true)
}

/** Error codes are small negative numbers (zstd_errors.h). */
function isError(code: number): boolean {
  return code < 0 && code > -1000
}
