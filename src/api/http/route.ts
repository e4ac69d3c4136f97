// How endpoints are declared. Validation, access, limits, the OpenAPI document and the contract test follow from it.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Static, TSchema } from 'typebox'
import type { Access } from '../../domain/roles.ts'
import type { Caller } from '../../domain/caller.ts'
import type { Origin } from '../../domain/audit.ts'
import type { ProblemCode } from '../../domain/problem.ts'
import type { ScopeAction, Target } from '../../domain/scopes.ts'
import type { Protocol } from './protocol.ts'

/**
 * Names of rate limits; `limits.ts` has the figures. A route without one uses the limits of the caller's role, for reads or
 * for writes by its method. `reads` is for routes that change nothing, whatever their method, and for requests with `dry_run`.
 */
export type LimitName =
  | 'reads'
  | 'login'
  | 'credentials'
  | 'upload'
  | 'publish'
  | 'enrol'
  | 'import'
  | 'distributions'
  | 'stream'
  | 'webhook'
  | 'none'

export interface Call<P, Q, B> {
  params: P
  query: Q
  body: B
  /** null on public routes without a valid credential */
  caller: Caller | null
  /**
   * Checks the caller's credential, role and scopes again, because a body may take hours.
   * @throws Problem as before the body: `unauthorized`, `forbidden`, ...
   */
  admitAgain(): Promise<Caller>
  /**
   * The body of a route with `stream`, as fast as it is read. Read it once.
   * @throws Problem `body_too_large`, or `validation_error` when the client leaves before the end
   */
  bodyStream(): AsyncIterable<Uint8Array>
  /**
   * Of a route with `edited`: compares the state before a change with `If-Match`. Call it in the transaction of the change.
   * @param before in the form in which GET answers it
   * @throws Problem `changed_meanwhile`
   */
  unchanged(before: object): void
  origin: Origin
  raw: FastifyRequest
  reply: FastifyReply
}

/** A call to a route that is not public, so the caller is known. */
export interface SignedCall<P, Q, B> extends Call<P, Q, B> {
  caller: Caller
}

export interface Route {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /**
   * below `/api/v1`, or from the root when `root` is set; without trailing slash. Parameters are `{name}`, one segment, and at
   * most one `{name+}`, one or more segments; a path that fits several templates belongs to the one with most literal segments
   */
  path: string
  root?: boolean
  /** first word of the documentation group */
  tag: string
  summary: string
  access: Access | 'public'
  /**
   * What the route does, for tokens with scopes. By default `manage` for admins' routes and for writes, else `read`.
   * `always` needs no action; `never` refuses tokens with scopes, because the route could give more rights.
   */
  action?: ScopeAction | 'always' | 'never'
  /**
   * The packages that a write changes, for tokens that are limited to some packages; `handler` when the handler checks them
   * itself. Without it, such tokens are refused.
   */
  targets?: 'handler' | ((input: { params: never; query: never; body: never }) => Target[])
  limit?: LimitName
  flags?: {
    /** needs a login session; an API token gets 403 `session_required` */
    sessionOnly?: boolean
    /** works without a second factor that the settings require */
    enrolment?: boolean
    /** long work that the specification keeps from passive replicas: they answer 503 `passive_replica` */
    leaderOnly?: boolean
    /** long work as a task, which any replica queues; 503 `passive_replica` only while no replica leads */
    needsLeader?: boolean
    /** missing from the community edition: 402 `feature_unavailable` with this feature */
    enterprise?: string
    /** not in the OpenAPI document (aliases) */
    hidden?: boolean
    /** development only; 404 in production */
    developmentOnly?: boolean
    /** for a path with `{name+}`: an encoded slash is part of the value; without this flag such paths are refused */
    encodedSlashes?: boolean
    /** the handler reads the raw body itself */
    multipart?: boolean
    rawBody?: boolean
    /** a request without a body counts as one with an empty object */
    optionalBody?: boolean
    /** the body may be sent as a form as well */
    formBody?: boolean
  }
  /** a body of any content type that the handler reads from `bodyStream`; it may take as long as an upload */
  stream?: { mostBytes: number; media: readonly string[] }
  /** the protocol whose errors and challenges it uses instead of ours; all routes of a prefix share one object */
  protocol?: Protocol
  /** a POST that makes something, and whose JSON answer is kept for a day for a request with the same `Idempotency-Key` */
  idempotencyKey?: boolean
  /**
   * It reads or changes one thing that people edit: an answer with all of these keys has an `ETag` made of them, and a change may
   * have `If-Match`. With `handler` the handler does both.
   */
  edited?: 'handler' | readonly string[]
  /** replaces the limit of 1 MB for bodies */
  bodyLimitBytes?: number
  params?: TSchema
  query?: TSchema
  body?: TSchema
  /** the fields of a route with `multipart`, for the OpenAPI document */
  form?: TSchema
  /** an example body for the OpenAPI document; names in it are invented */
  example?: object
  /** success status, 200 by default; the handler may set another with `reply.code` */
  success?: 200 | 201
  /** further statuses, with the body of success or without any (304, 412, 416), and what each means */
  also?: Partial<Record<200 | 202 | 206 | 301 | 304 | 412 | 416 | 503, string>>
  /** success body; `null` for streams and files */
  answer: TSchema | null
  /** of streams and files; with an `answer`, what clients get that ask for it in `Accept` */
  media?: readonly string[]
  /** of a `text/event-stream`: the data of each event by its name; `message` is one without a name */
  events?: Readonly<Record<string, TSchema>>
  /** errors whose body has the fields of success as well */
  verdicts?: readonly ProblemCode[]
  /** error codes in addition to those that `impliedProblems` derives */
  problems: readonly ProblemCode[]
  /** Checks the headers before the body is read. @throws Problem */
  beforeBody?(request: FastifyRequest): void
  /** Reads a body that only the handler reads, and sets `bodyDigest`, for comparison with an earlier request. @throws Problem */
  digestBody?(request: FastifyRequest): Promise<void>
  /** returns the body; undefined when it has sent the reply itself */
  handle(call: Call<never, never, never>): Promise<unknown>
}

type StaticOr<T, Otherwise> = T extends TSchema ? Static<T> : Otherwise

interface Declared<P, Q, B, A extends Access | 'public'> extends Omit<
  Route,
  'params' | 'query' | 'body' | 'handle' | 'access' | 'targets'
> {
  access: A
  targets?:
    | 'handler'
    | ((input: { params: StaticOr<P, object>; query: StaticOr<Q, object>; body: StaticOr<B, undefined> }) => Target[])
  params?: P
  query?: Q
  body?: B
  handle(
    call: A extends 'public'
      ? Call<StaticOr<P, object>, StaticOr<Q, object>, StaticOr<B, undefined>>
      : SignedCall<StaticOr<P, object>, StaticOr<Q, object>, StaticOr<B, undefined>>,
  ): Promise<unknown>
}

/** An endpoint without its handler, for clients and the OpenAPI document. */
export type Declaration = Omit<Route, 'handle' | 'beforeBody' | 'digestBody'>

type Optional = TSchema | undefined
type Handler<P, Q, B, A extends Access | 'public'> = Declared<P, Q, B, A>['handle']

/** Declares an endpoint in a `*.contract.ts` file, which imports no handler. */
export function declare<
  const A extends Access | 'public',
  P extends Optional = undefined,
  Q extends Optional = undefined,
  B extends Optional = undefined,
>(declaration: Omit<Declared<P, Q, B, A>, 'handle'>): Omit<Declared<P, Q, B, A>, 'handle'> {
  return declaration
}

/** Joins a declaration with its handler. The types of parameters, query and body come from the schemas. */
export function handle<A extends Access | 'public', P, Q, B>(
  declaration: Omit<Declared<P, Q, B, A>, 'handle'>,
  handler: Handler<P, Q, B, A>,
  more: Pick<Route, 'beforeBody' | 'digestBody'> = {},
): Route {
  return { ...declaration, ...more, handle: handler } as unknown as Route
}

/** Declares a route with its handler, for tests. */
export function route<
  const A extends Access | 'public',
  P extends Optional = undefined,
  Q extends Optional = undefined,
  B extends Optional = undefined,
>(declared: Declared<P, Q, B, A>): Route {
  return declared as unknown as Route
}
