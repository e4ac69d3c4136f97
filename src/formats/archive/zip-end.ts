// Finds zip files by their end: a zip after a script or a program has no magic at the beginning, but every unzip reads it.
import { END, END64_LOCATOR, isCentral, LONGEST_END, type ZipSource } from './zip.ts'

/** The last bytes of a stream, as many as can hold an end record. */
export interface Tail {
  add(piece: Uint8Array): void
  /** Forgets earlier bytes. */
  clear(): void
  bytes(): Buffer
}

export function createTail(): Tail {
  const room = Buffer.allocUnsafe(2 * LONGEST_END)
  let used = 0
  return {
    add(piece) {
      const last = piece.subarray(-LONGEST_END)
      if (used + last.length > room.length) {
        room.copyWithin(0, used - LONGEST_END, used)
        used = LONGEST_END
      }
      room.set(last, used)
      used += last.length
    },
    clear() {
      used = 0
    },
    bytes: () => room.subarray(Math.max(0, used - LONGEST_END), used),
  }
}

/** Possible end records in the tail, each with a directory before it; `endsAsZip` verifies them. */
function* endsIn(tail: Buffer): Generator<{ at: number; directoryBytes: number; offset: number }> {
  const magic = Buffer.alloc(4)
  magic.writeUInt32LE(END)
  for (let at = tail.lastIndexOf(magic); at >= 0; at = at === 0 ? -1 : tail.lastIndexOf(magic, at - 1)) {
    if (at + 22 > tail.length) continue
    const directoryBytes = tail.readUInt32LE(at + 12)
    if (directoryBytes >= 46) yield { at, directoryBytes, offset: tail.readUInt32LE(at + 16) }
  }
}

export function mayEndAsZip(tail: Buffer): boolean {
  return !endsIn(tail).next().done
}

/** Whether an end record follows a directory, at one of the two places where readers look for it. */
export async function endsAsZip(source: ZipSource): Promise<boolean> {
  const tail = await source.read(Math.max(0, source.sizeBytes - LONGEST_END), Math.min(source.sizeBytes, LONGEST_END))
  for (const { at, directoryBytes, offset } of endsIn(tail)) {
    if (at >= 20 && tail.readUInt32LE(at - 20) === END64_LOCATOR) return true
    const before = source.sizeBytes - tail.length + at - directoryBytes
    if ((await isCentral(source, before)) || (await isCentral(source, offset))) return true
  }
  return false
}
