// Stands before a PostgreSQL server and counts the statements that clients send.
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import type { AddressInfo } from 'node:net'

export interface CountedDatabase {
  /** of the same database, through this one */
  url: string
  total(): number
  /** by their text, with one blank between words; the most frequent first */
  tally(): [text: string, count: number][]
  reset(): void
  close(): Promise<void>
}

const [PARSE, QUERY] = [0x50, 0x51]

export async function startCountedDatabase(databaseUrl: string): Promise<CountedDatabase> {
  const to = new URL(databaseUrl)
  const counts = new Map<string, number>()
  const open = new Set<Socket>()
  const said = (text: string) => {
    const plain = text.replace(/\s+/g, ' ').trim()
    counts.set(plain, (counts.get(plain) ?? 0) + 1)
  }
  const server = createServer((near) => {
    const far = connect(Number(to.port || 5432), to.hostname)
    const read = messagesOf(said)
    for (const [from, into] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(from)
      from.on('error', () => into.destroy())
      from.on('close', () => {
        open.delete(from)
        into.destroy()
      })
    }
    near.on('data', read)
    near.pipe(far)
    far.pipe(near)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = new URL(databaseUrl)
  url.hostname = '127.0.0.1'
  url.port = String((server.address() as AddressInfo).port)
  return {
    url: url.href,
    total: () => [...counts.values()].reduce((sum, count) => sum + count, 0),
    tally: () => [...counts].sort(([, a], [, b]) => b - a),
    reset: () => counts.clear(),
    async close() {
      for (const socket of open) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

/** https://www.postgresql.org/docs/current/protocol-message-formats.html: after the first one, each has a type and its length. */
function messagesOf(said: (text: string) => void): (piece: Buffer) => void {
  let kept: Buffer = Buffer.alloc(0)
  let isFirst = true
  /** of a long message that is skipped */
  let skip = 0
  return (piece) => {
    const skipped = Math.min(skip, piece.length)
    skip -= skipped
    kept = Buffer.concat([kept, piece.subarray(skipped)])
    for (;;) {
      const head = isFirst ? 0 : 1
      if (kept.length < head + 4) return
      const type = isFirst ? 0 : kept[0]!
      const length = head + kept.readUInt32BE(head)
      const isText = type === PARSE || type === QUERY
      if (isText && kept.length < length) return
      if (type === QUERY) said(textAt(kept, 5))
      // The name of the statement is in front of its text.
      if (type === PARSE) said(textAt(kept, kept.indexOf(0, 5) + 1))
      isFirst = false
      skip = Math.max(0, length - kept.length)
      kept = kept.subarray(length)
    }
  }
}

const textAt = (message: Buffer, from: number): string => message.subarray(from, message.indexOf(0, from)).toString()
