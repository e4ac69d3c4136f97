// liblzma as WebAssembly: decoders without native code, each with a memory of its own.
import { readFile } from 'node:fs/promises'
import createModule from 'node-liblzma/wasm/liblzma.js'

// Only the compiled module is taken from node-liblzma, by its two files. Its own streams accept a truncated file, read only one
// of several streams, and share one memory. Compared with `xz` 5.4 (November 2026): all filters, checks and sizes; 75 MB/s of
// a tar, where lzma-native made 40. xz-decompress cannot verify SHA-256, which every rpm has, and knows no filter but x86.

interface Module {
  HEAPU8: Uint8Array
  HEAPU32: Uint32Array
  _malloc(size: number): number
  _lzma_stream_decoder(stream: number, memoryLimit: bigint, flags: number): number
  _lzma_auto_decoder(stream: number, memoryLimit: bigint, flags: number): number
  _lzma_code(stream: number, action: number): number
  _lzma_end(stream: number): void
}
interface WebAssemblyApi {
  compile(bytes: Uint8Array): Promise<object>
  Instance: new (module: object, imports: object) => { exports: object }
}
const wasm = () => (globalThis as unknown as { WebAssembly: WebAssemblyApi }).WebAssembly

/** lzma/base.h: the return codes that a decoder can give, and the actions */
export const LZMA = {
  ok: 0,
  end: 1,
  noMemory: 5,
  memoryLimit: 6,
  truncated: 10,
  run: 0,
  finish: 3,
  concatenated: 8,
} as const

/** sizeof(lzma_stream), and where its fields are, in words of 32 bits */
const STREAM_BYTES = 136
const NEXT_IN = 0
const AVAILABLE_IN = 1
const NEXT_OUT = 4
const AVAILABLE_OUT = 5

export const IN_BYTES = 64 * 1024
const OUT_BYTES = 128 * 1024

export interface Decoder {
  /** puts in at most IN_BYTES, once all earlier input is taken */
  put(piece: Uint8Array): void
  /** input bytes that are not taken yet */
  left(): number
  /** One step. @returns its code and the decoded bytes, at most 128 KiB */
  step(action: number): { code: number; output: Uint8Array }
  /** Frees the stream. */
  close(): void
}

/** A module with room for one stream. Its memory grows to what the largest dictionary needs, and never shrinks. */
interface Instance {
  module: Module
  stream: number
  input: number
  output: number
}

let compiled: Promise<object> | undefined
// V8 does not count the memory of WebAssembly, and so collects unused instances too late: a hundred small packages took 1 GB.
// Therefore instances are reused, as many as there are streams at the same time.
const unused: Instance[] = []
const MOST_UNUSED = 2

/** @param kind `xz` reads all streams of a file, `lzma` the one stream of the old format */
export async function createDecoder(kind: 'xz' | 'lzma', memoryLimit: number): Promise<Decoder> {
  const instance = unused.pop() ?? (await createInstance())
  const { module, stream, input, output } = instance
  module.HEAPU8.fill(0, stream, stream + STREAM_BYTES)
  const init = kind === 'xz' ? module._lzma_stream_decoder : module._lzma_auto_decoder
  const started = init(stream, BigInt(memoryLimit), kind === 'xz' ? LZMA.concatenated : 0)
  if (started !== LZMA.ok) throw new Error(`liblzma does not start: ${started}`)

  // The views change whenever the memory grows.
  const word = (field: number) => (stream >> 2) + field
  return {
    put(piece) {
      module.HEAPU8.set(piece, input)
      module.HEAPU32[word(NEXT_IN)] = input
      module.HEAPU32[word(AVAILABLE_IN)] = piece.length
    },
    left: () => module.HEAPU32[word(AVAILABLE_IN)]!,
    step(action) {
      module.HEAPU32[word(NEXT_OUT)] = output
      module.HEAPU32[word(AVAILABLE_OUT)] = OUT_BYTES
      const code = module._lzma_code(stream, action)
      const size = OUT_BYTES - module.HEAPU32[word(AVAILABLE_OUT)]!
      return { code, output: module.HEAPU8.slice(output, output + size) }
    },
    close() {
      module._lzma_end(stream)
      if (unused.length < MOST_UNUSED) unused.push(instance)
    },
  }
}

async function createInstance(): Promise<Instance> {
  compiled ??= readFile(new URL(import.meta.resolve('node-liblzma/wasm/liblzma.wasm'))).then((bytes) =>
    wasm().compile(bytes),
  )
  const code = await compiled
  const module = (await createModule({
    instantiateWasm(imports: object, done: (instance: object) => void) {
      const instance = new (wasm().Instance)(code, imports)
      done(instance)
      return instance.exports
    },
  })) as unknown as Module
  return {
    module,
    stream: module._malloc(STREAM_BYTES),
    input: module._malloc(IN_BYTES),
    output: module._malloc(OUT_BYTES),
  }
}
