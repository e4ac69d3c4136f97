// Messages between the service and a reader as bytes: a bounded, structured head, followed by the byte arrays.
import v8 from 'node:v8'

// Not the channel of `fork`: it collects messages of any size in memory, has no back-pressure, and transfers 500 to
// 800 MB/s (a socket: 1,500; November 2026).

/** How much memory one side can make the other use. */
export interface FrameLimits {
  /** numbers, strings and objects; 2 MiB of them take 30 ms to read */
  headBytes: number
  allBytes: number
}

const LENGTHS_BYTES = 8

// The typings of node:v8 lack the methods that subclasses need.
const Serializer = v8.Serializer as unknown as new () => v8.Serializer & {
  _setTreatArrayBufferViewsAsHostObjects(flag: boolean): void
}

class HeadWriter extends Serializer {
  readonly arrays: Uint8Array[] = []
  constructor() {
    super()
    this._setTreatArrayBufferViewsAsHostObjects(true)
  }
  _writeHostObject(view: unknown): void {
    if (!(view instanceof Uint8Array)) throw new TypeError('messages carry bytes as Uint8Array only')
    this.arrays.push(view)
    this.writeUint32(view.byteLength)
  }
}

/** The pieces to write, one after another. The byte arrays among them are not copied. */
export function encodeFrame(message: object): Uint8Array[] {
  const writer = new HeadWriter()
  writer.writeHeader()
  writer.writeValue(message)
  const head = writer.releaseBuffer()
  const lengths = Buffer.alloc(LENGTHS_BYTES)
  lengths.writeUInt32LE(head.length, 0)
  lengths.writeUInt32LE(
    writer.arrays.reduce((sum, { byteLength }) => sum + byteLength, 0),
    4,
  )
  return [lengths, head, ...writer.arrays]
}

class HeadReader extends v8.Deserializer {
  readonly #bytes: Uint8Array
  #at = 0
  constructor(head: Uint8Array, bytes: Uint8Array) {
    super(head)
    this.#bytes = bytes
  }
  _readHostObject(): Uint8Array {
    const end = this.#at + this.readUint32()
    if (end > this.#bytes.length) throw new RangeError('a message names bytes that it does not have')
    const view = this.#bytes.subarray(this.#at, end)
    this.#at = end
    return view
  }
}

/** Assembles frames from the bytes that arrive. */
export interface FrameReader {
  /** @returns the messages that this chunk completes @throws Error for anything but frames within the limits */
  push(chunk: Uint8Array): unknown[]
}

export function createFrameReader({ headBytes, allBytes }: FrameLimits): FrameReader {
  const lengths = Buffer.alloc(LENGTHS_BYTES)
  /** the current frame; null until its lengths have arrived */
  let frame: Buffer | null = null
  let headLength = 0
  let filled = 0

  function begin(): Buffer {
    headLength = lengths.readUInt32LE(0)
    const length = headLength + lengths.readUInt32LE(4)
    if (headLength > headBytes || length > allBytes) throw new RangeError(`a message of ${length} bytes`)
    // Pages that are never written to take no memory.
    return Buffer.allocUnsafeSlow(length)
  }

  function parse(whole: Buffer): unknown {
    const reader = new HeadReader(whole.subarray(0, headLength), whole.subarray(headLength))
    reader.readHeader()
    return reader.readValue()
  }

  return {
    push(chunk) {
      const found: unknown[] = []
      for (let at = 0; at < chunk.length;) {
        const into: Buffer = frame ?? lengths
        const part = chunk.subarray(at, at + into.length - filled)
        into.set(part, filled)
        filled += part.length
        at += part.length
        if (filled < into.length) break
        filled = 0
        if (!frame) frame = begin()
        // An empty frame has no head either, so parsing it fails.
        if (frame.length === 0 || into === frame) {
          found.push(parse(frame))
          frame = null
        }
      }
      return found
    },
  }
}
