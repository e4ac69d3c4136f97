// The API, through the typed client, with the session of the console. Errors are thrown as `ApiError`.
import { queryOptions, type QueryKey } from '@tanstack/react-query'
import { createClient, type AnswerOf, type Call, type Endpoint, type Result } from '../../../client/src/index.ts'
import { withSession } from './renewal.ts'
import { ApiError } from './problem.ts'
import { isAboutSame } from './about-same.ts'

export type { Endpoint, AnswerOf }
export type Answered<E extends Endpoint> = AnswerOf<E>

/** The address of the console; a proxy may show it below a path. */
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

/** One call that changes something. @throws ApiError */
export async function call<E extends Endpoint>(endpoint: E, ...[given]: Arguments<E>): Promise<AnswerOf<E>> {
  return valueOf(await client.call(endpoint, given as never))
}

/** Changes a document only if it is in this state; see `etag` of its answer. @throws ApiError `changed_meanwhile` */
export async function change<E extends Endpoint>(endpoint: E, state: string, given: Given<E>): Promise<AnswerOf<E>> {
  return valueOf(await client.call(endpoint, { ...given, headers: { 'if-match': `"${state}"` } } as never))
}

/** A query for reading. Its key begins with the endpoint, which events mark as stale. */
export function read<E extends Endpoint>(endpoint: E, ...[given]: Arguments<E>) {
  return queryOptions({
    queryKey: [endpoint, given ?? {}] as const,
    queryFn: async ({ signal }) => valueOf<AnswerOf<E>>(await client.call(endpoint, { ...given, signal } as never)),
  })
}

/** One thing that people edit, with the state for `change`. A form keeps the first answer: a later one has another state. */
export function readEdited<E extends Endpoint>(endpoint: E, given: Given<E>) {
  return queryOptions({
    queryKey: [endpoint, given, 'edited'] as const,
    queryFn: async ({ signal }) => {
      const result = await client.call(endpoint, { ...given, signal } as never)
      const document = valueOf<AnswerOf<E>>(result)
      return { document, state: (result.ok && result.headers.get('etag')?.replace(/^W\/|"/g, '')) || '' }
    },
    // A form that opens again shows what is there now.
    gcTime: 0,
  })
}

/**
 * A query for a list with pages or filters: the previous rows stay until the new ones have arrived. Not for a list about one
 * thing: rows of another package would be shown under its name.
 */
export function readList<E extends Endpoint>(endpoint: E, ...given: Arguments<E>) {
  const options = read(endpoint, ...given)
  return {
    ...options,
    placeholderData: (previous: AnswerOf<E> | undefined, before?: { queryKey: QueryKey }) =>
      before && isAboutSame(before.queryKey[1], options.queryKey[1]) ? previous : undefined,
  }
}

/** The address of an endpoint for a plain download link; the browser sends the cookie with it. */
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
