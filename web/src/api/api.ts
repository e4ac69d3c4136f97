// The API, through the typed client, with the session of the console. Errors are thrown as `ApiError`.
import { queryOptions, type QueryKey } from '@tanstack/react-query'
import { createClient, type AnswerOf, type Call, type Endpoint, type Result } from '../../../client/src/index.ts'
import { withSession } from './renewal.ts'
import { ApiError } from './problem.ts'
import { isAboutSame } from './about-same.ts'

export type { Endpoint, AnswerOf }
export type Answered<E extends Endpoint> = AnswerOf<E>

/** Where the console is, which a proxy may show below a path. */
export const base = new URL('.', document.baseURI).href

export const client = createClient({
  url: base,
  token: null,
  fetch: (input, init) => withSession(() => fetch(input, init)),
})

type Given<E extends Endpoint> = Omit<Call<E>, 'signal' | 'headers'>
type Arguments<E extends Endpoint> = object extends Given<E> ? [given?: Given<E>] : [given: Given<E>]

/** @throws ApiError */
export function valueOf<T>(result: Result<T>): T {
  if (!result.ok) throw new ApiError(result.error)
  return result.data
}

/** One call; for changes. @throws ApiError */
export async function call<E extends Endpoint>(endpoint: E, ...[given]: Arguments<E>): Promise<AnswerOf<E>> {
  return valueOf(await client.call(endpoint, given as never))
}

/** One change of a document that must be in this state; see `etag` of its answer. @throws ApiError `changed_meanwhile` */
export async function change<E extends Endpoint>(endpoint: E, state: string, given: Given<E>): Promise<AnswerOf<E>> {
  return valueOf(await client.call(endpoint, { ...given, headers: { 'if-match': `"${state}"` } } as never))
}

/** A query for reading. Its key begins with the endpoint, which is what events make stale. */
export function read<E extends Endpoint>(endpoint: E, ...[given]: Arguments<E>) {
  return queryOptions({
    queryKey: [endpoint, given ?? {}] as const,
    queryFn: async ({ signal }) => valueOf<AnswerOf<E>>(await client.call(endpoint, { ...given, signal } as never)),
  })
}

/**
 * A query for a list with pages or filters: the rows of before stay until the new ones are there. Not for what is about one
 * thing: those of another package would be shown under the name of this one.
 */
export function readList<E extends Endpoint>(endpoint: E, ...given: Arguments<E>) {
  const options = read(endpoint, ...given)
  return {
    ...options,
    placeholderData: (previous: AnswerOf<E> | undefined, before?: { queryKey: QueryKey }) =>
      before && isAboutSame(before.queryKey[1], options.queryKey[1]) ? previous : undefined,
  }
}

/** The address of an endpoint that a plain link downloads from; the cookie goes with it. */
export function linkTo(
  endpoint: Endpoint,
  { params, query }: { params?: Record<string, string>; query?: Record<string, string | undefined> } = {},
): string {
  const template = endpoint.slice(endpoint.indexOf(' ') + 1)
  const path = template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params?.[name] ?? ''))
  const url = new URL(`api/v1${path}`, base)
  for (const [name, value] of Object.entries(query ?? {})) if (value) url.searchParams.set(name, value)
  return url.href
}
