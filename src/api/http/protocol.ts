// Other protocols that the API speaks below a prefix: their form of errors, and the credential they ask for.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Problem } from '../../domain/problem.ts'
import { basicTexts } from '../../serve/access/credentials.ts'
import { pathOf, segmentsOf, type Addressed } from './paths.ts'
import { answerOf, type ErrorAnswer } from './problems.ts'

export interface Protocol {
  /** every path below it gets the protocol's errors, even without a route */
  prefix: string
  errors: {
    media: string
    /** makes the body of an error from the body of our own API; an object is sent as JSON */
    body(error: ErrorAnswer['body'], status: number): object | string
  }
  /** what a 401 asks for (RFC 9110, section 11.6.1) */
  challenge: { scheme: 'Basic' | 'Bearer'; parameters(request: FastifyRequest): Record<string, string> }
}

/**
 * The credential of a request to a protocol whose clients send a name and a password: an API token is the password, under any name.
 * @returns the header as our own API takes it
 */
export function credentialOf(protocol: Protocol | undefined, header: string | undefined): string | undefined {
  const basic = /^Basic +([A-Za-z0-9+/=]+) *$/i.exec(header ?? '')?.[1]
  if (protocol?.challenge.scheme !== 'Basic' || basic === undefined) return header
  return `Bearer ${basicTexts(basic)[0]}`
}

/** @returns the protocol of a request target; null for our own API */
export function protocolsOf(
  routes: readonly (Addressed & { protocol?: Protocol })[],
): (target: string) => Protocol | null {
  const protocols = [...new Set(routes.flatMap(({ protocol }) => protocol ?? []))]
  for (const route of routes)
    if (route.protocol && !isBelow(pathOf(route), route.protocol.prefix))
      throw new Error(`${pathOf(route)} is not below ${route.protocol.prefix}`)
  return (target) => {
    // A target that cannot be decoded is refused, in the protocol of its prefix.
    const path = segmentsOf(target)?.join('/') ?? target.slice(1)
    return protocols.find(({ prefix }) => isBelow(`/${path}`, prefix)) ?? null
  }
}

const isBelow = (path: string, prefix: string) => `${path}/`.startsWith(`${prefix}/`)

/** Sends the answer of a Problem, in the form of the protocol if there is one. */
export function sendProblem(reply: FastifyReply, problem: Problem, protocol: Protocol | null = null): FastifyReply {
  const { status, headers, body } = answerOf(problem)
  reply.code(status).headers(headers)
  if (!protocol) return reply.type('application/json; charset=utf-8').send(body)
  if (status === 401) reply.header('www-authenticate', challengeOf(protocol, reply.request))
  // pip, uv, poetry and Maven 3 print the reason phrase but not the body.
  reply.raw.statusMessage = visible(body.detail)
  const said = protocol.errors.body(body, status)
  // As bytes, because Fastify would add a charset to the media type of a text.
  const bytes = Buffer.from(typeof said === 'string' ? said : JSON.stringify(said))
  return reply.type(protocol.errors.media).send(bytes)
}

function challengeOf({ challenge: { scheme, parameters } }: Protocol, request: FastifyRequest): string {
  const quoted = Object.entries(parameters(request)).map(
    ([name, text]) => `${name}="${visible(text).replace(/["\\]/g, '\\$&')}"`,
  )
  return [scheme, quoted.join(',')].filter(Boolean).join(' ')
}

/** Headers may contain names from the path, but only visible ASCII. */
const visible = (text: string) => text.replace(/[^\x20-\x7e]/g, '?').slice(0, 500)
