// A collector of traces on loopback: reads OTLP over HTTP as protobuf and as JSON
// (https://opentelemetry.io/docs/specs/otlp/, opentelemetry/proto/trace/v1/trace.proto).
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface SentSpan {
  name: string
  traceId: string
  spanId: string
  /** empty for the first span of a trace */
  parent: string
  /** numbers as text */
  attributes: Record<string, string>
  resource: Record<string, string>
  isError: boolean
  /** nanoseconds since 1970 */
  began: bigint
  ended: bigint
}

export interface Collector {
  url: string
  spans: SentSpan[]
  /** every body, as received */
  bodies: Buffer[]
  headers: IncomingHttpHeaders[]
  close(): Promise<void>
}

/** @param answers false: no request is ever answered */
export async function startCollector({ answers = true } = {}): Promise<Collector> {
  const spans: SentSpan[] = []
  const bodies: Buffer[] = []
  const headers: IncomingHttpHeaders[] = []
  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request
      .on('data', (part: Buffer) => parts.push(part))
      .on('end', () => {
        const body = Buffer.concat(parts)
        bodies.push(body)
        headers.push(request.headers)
        const isJson = request.headers['content-type'] === 'application/json'
        if (request.url === '/v1/traces') spans.push(...(isJson ? ofJson(body) : ofProtobuf(body)))
        if (answers)
          response.writeHead(200, { 'content-type': String(request.headers['content-type']) }).end(isJson ? '{}' : '')
      })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ...{ spans, bodies, headers },
    async close() {
      if (!server.listening) return
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

function ofJson(body: Buffer): SentSpan[] {
  const attributesOf = (list: any[] = []) =>
    Object.fromEntries(list.map(({ key, value }) => [key, String(Object.values(value)[0])]))
  return JSON.parse(body.toString()).resourceSpans.flatMap(({ resource, scopeSpans }: any) =>
    scopeSpans.flatMap((scope: any) =>
      scope.spans.map((span: any) => ({
        ...{ name: span.name, traceId: span.traceId, spanId: span.spanId, parent: span.parentSpanId ?? '' },
        attributes: attributesOf(span.attributes),
        resource: attributesOf(resource.attributes),
        isError: span.status?.code === 2,
        ...{ began: BigInt(span.startTimeUnixNano), ended: BigInt(span.endTimeUnixNano) },
      })),
    ),
  )
}

function ofProtobuf(body: Buffer): SentSpan[] {
  return all(body, 1).flatMap((resourceSpans) => {
    const resource = attributesOf(all(bytesAt(resourceSpans, 1), 1))
    return all(resourceSpans, 2)
      .flatMap((scopeSpans) => all(scopeSpans, 2))
      .map((span) => ({
        name: bytesAt(span, 5).toString(),
        traceId: bytesAt(span, 1).toString('hex'),
        spanId: bytesAt(span, 2).toString('hex'),
        parent: bytesAt(span, 4).toString('hex'),
        attributes: attributesOf(all(span, 9)),
        resource,
        isError: fieldsOf(bytesAt(span, 15)).some(({ field, value }) => field === 3 && value === 2n),
        began: numberAt(span, 7),
        ended: numberAt(span, 8),
      }))
  })
}

/** Fields of a message (https://protobuf.dev/programming-guides/encoding/). */
function* fields(message: Buffer): Generator<{ field: number; value: bigint | Buffer }> {
  let at = 0
  const varint = (): bigint => {
    let value = 0n
    for (let shift = 0n; ; shift += 7n) {
      const byte = message[at++]
      if (byte === undefined) throw new Error('the message is cut off')
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
  }
  while (at < message.length) {
    const tag = Number(varint())
    const field = tag >> 3
    const type = tag & 7
    if (type === 0) yield { field, value: varint() }
    else if (type === 1) yield { field, value: message.readBigUInt64LE((at += 8) - 8) }
    else if (type === 5) yield { field, value: BigInt(message.readUInt32LE((at += 4) - 4)) }
    else if (type === 2) {
      const length = Number(varint())
      yield { field, value: message.subarray(at, (at += length)) }
    } else throw new Error(`no wire type ${type}`)
  }
}

const fieldsOf = (message: Buffer) => [...fields(message)]
const all = (message: Buffer, field: number) =>
  fieldsOf(message).flatMap((one) => (one.field === field && Buffer.isBuffer(one.value) ? [one.value] : []))
const bytesAt = (message: Buffer, field: number) => all(message, field)[0] ?? Buffer.alloc(0)
const numberAt = (message: Buffer, field: number) =>
  fieldsOf(message).find((one) => one.field === field)?.value as bigint

function attributesOf(list: Buffer[]): Record<string, string> {
  return Object.fromEntries(
    list.map((pair) => {
      const value = fieldsOf(bytesAt(pair, 2))[0]?.value
      return [bytesAt(pair, 1).toString(), value?.toString() ?? '']
    }),
  )
}
