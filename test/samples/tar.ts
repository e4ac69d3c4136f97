// Writes tar archives for tests, well-formed or hostile.

export interface SampleEntry {
  name: string | Buffer
  content?: Uint8Array | string
  /** header type flag; default `0`, `5` for names that end in a slash */
  type?: string
  linkName?: string
  mode?: number
  /** size in the header, if it differs from the content */
  size?: number | Buffer
  /** written into the checksum field instead of the correct one */
  checksum?: number
}

/** The archive with its two closing blocks; `end: false` omits them. */
export function buildTar(entries: readonly SampleEntry[], { end = true } = {}): Buffer {
  return Buffer.concat([...entries.map(tarEntry), ...(end ? [Buffer.alloc(1024)] : [])])
}

/** One entry: header, content, padding. A GNU long-name entry precedes names over 100 bytes. */
export function tarEntry(entry: SampleEntry): Buffer {
  const name = Buffer.from(entry.name)
  const content = Buffer.from(entry.content ?? '')
  const parts: Buffer[] = []
  if (name.length > 100)
    parts.push(tarEntry({ name: '././@LongLink', type: 'L', content: Buffer.concat([name, Buffer.alloc(1)]) }))
  const type = entry.type ?? (name.at(-1) === 0x2f ? '5' : '0')
  const header = Buffer.alloc(512)
  name.copy(header, 0, 0, 100)
  const octal = (value: number, at: number, length: number) =>
    header.write(value.toString(8).padStart(length - 1, '0'), at)
  octal(entry.mode ?? (type === '5' ? 0o755 : 0o644), 100, 8)
  octal(0, 108, 8)
  octal(0, 116, 8)
  if (Buffer.isBuffer(entry.size)) entry.size.copy(header, 124, 0, 12)
  else octal(entry.size ?? content.length, 124, 12)
  octal(1_700_000_000, 136, 12)
  header.write(type, 156, 'latin1')
  header.write(entry.linkName ?? '', 157, 100)
  header.write('ustar  \0', 257, 'latin1')
  header.fill(0x20, 148, 156)
  const sum = entry.checksum ?? header.reduce((total, byte) => total + byte, 0)
  header.write(sum.toString(8).padStart(6, '0') + '\0 ', 148, 'latin1')
  parts.push(header, content, Buffer.alloc((512 - (content.length % 512)) % 512))
  return Buffer.concat(parts)
}

/** A pax extended header entry for the entry after it. */
export function paxEntry(records: Record<string, string>, type: 'x' | 'g' = 'x'): Buffer {
  const body = Object.entries(records).map(([key, value]) => {
    const rest = Buffer.byteLength(` ${key}=${value}\n`)
    let length = rest + 1
    while (length !== rest + String(length).length) length = rest + String(length).length
    return `${length} ${key}=${value}\n`
  })
  return tarEntry({ name: 'PaxHeaders/sample', type, content: body.join('') })
}
