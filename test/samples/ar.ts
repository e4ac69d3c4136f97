// Writes ar archives for tests.

export interface SampleArMember {
  name: string
  content: Uint8Array | string
  /** size in the header, if it differs */
  size?: string
}

export function buildAr(members: readonly SampleArMember[]): Buffer<ArrayBuffer> {
  const parts: Buffer[] = [Buffer.from('!<arch>\n')]
  for (const { name, content, size } of members) {
    const body = Buffer.from(content)
    const header = `${name.padEnd(16)}${'0'.padEnd(12)}${'0'.padEnd(6)}${'0'.padEnd(6)}${'100644'.padEnd(8)}${(size ?? String(body.length)).padEnd(10)}\`\n`
    parts.push(Buffer.from(header, 'latin1'), body)
    if (body.length % 2) parts.push(Buffer.from('\n'))
  }
  return Buffer.concat(parts)
}
