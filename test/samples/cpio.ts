// Writes cpio archives (newc) for tests.

export interface SampleCpioEntry {
  name: string
  content?: Uint8Array | string
  mode?: number
  inode?: number
  links?: number
  /** size in the header, if it differs */
  size?: number
}

export function buildCpio(entries: readonly SampleCpioEntry[]): Buffer {
  return Buffer.concat([...entries.map(cpioEntry), cpioEntry({ name: 'TRAILER!!!', mode: 0, links: 1 })])
}

export function cpioEntry(entry: SampleCpioEntry, index = 0): Buffer {
  const content = Buffer.from(entry.content ?? '')
  const name = Buffer.from(`${entry.name}\0`)
  const fields = [
    entry.inode ?? index + 1,
    entry.mode ?? 0o100644,
    0,
    0,
    entry.links ?? 1,
    1_700_000_000,
    entry.size ?? content.length,
    0,
    0,
    0,
    0,
    name.length,
    0,
  ]
  const header = `070701${fields.map((field) => field.toString(16).padStart(8, '0')).join('')}`
  return Buffer.concat([pad(Buffer.concat([Buffer.from(header), name])), pad(content)])
}

/** An entry in rpm's form for large packages: only the index into the header's file list. */
export function strippedCpioEntry(fileIndex: number, content: Uint8Array | string): Buffer {
  const header = Buffer.from(`07070X${fileIndex.toString(16).padStart(8, '0')}`)
  return Buffer.concat([pad(header), pad(Buffer.from(content))])
}

function pad(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, Buffer.alloc((4 - (bytes.length % 4)) % 4)])
}

export type OldCpioForm = 'odc' | 'little' | 'big'

/** The formats before newc: octal digits, or 16-bit words in one of two byte orders. */
export function buildOldCpio(form: OldCpioForm, entries: readonly SampleCpioEntry[]): Buffer {
  return Buffer.concat([...entries, { name: 'TRAILER!!!', mode: 0 }].map((entry) => oldCpioEntry(form, entry)))
}

function oldCpioEntry(form: OldCpioForm, { name, content = '', mode = 0o100644 }: SampleCpioEntry): Buffer {
  const label = Buffer.from(`${name}\0`)
  const bytes = Buffer.from(content)
  if (form === 'odc') {
    const octal = (value: number, digits: number) => value.toString(8).padStart(digits, '0')
    const fields = [0, 1, mode, 0, 0, 1, 0].map((value) => octal(value, 6)).join('')
    const sizes = octal(1_700_000_000, 11) + octal(label.length, 6) + octal(bytes.length, 11)
    return Buffer.concat([Buffer.from(`070707${fields}${sizes}`), label, bytes])
  }
  const words = [0o070707, 0, 1, mode, 0, 0, 1, 0, 0x6554, 0, label.length, bytes.length >>> 16, bytes.length & 0xffff]
  const header = Buffer.alloc(26)
  for (const [at, word] of words.entries())
    if (form === 'little') header.writeUInt16LE(word, at * 2)
    else header.writeUInt16BE(word, at * 2)
  const even = (part: Buffer) => Buffer.concat([part, Buffer.alloc(part.length % 2)])
  return Buffer.concat([header, even(label), even(bytes)])
}
