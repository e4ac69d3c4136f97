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

/** An entry as rpm writes it for large packages: only the index into the header's file list. */
export function strippedCpioEntry(fileIndex: number, content: Uint8Array | string): Buffer {
  const header = Buffer.from(`07070X${fileIndex.toString(16).padStart(8, '0')}`)
  return Buffer.concat([pad(header), pad(Buffer.from(content))])
}

function pad(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, Buffer.alloc((4 - (bytes.length % 4)) % 4)])
}
