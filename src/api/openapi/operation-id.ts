// The id of an operation, which generators of clients make the name of a function.
import type { Declaration } from '../http/route.ts'

/** The method and the words of the path, in camel case. It changes only with the path. */
export function operationId({ method, path }: Pick<Declaration, 'method' | 'path'>): string {
  const words = path.replace(/\{(\w+)\+?\}/g, '$1')
  return `${method.toLowerCase()}${words.replace(/[^A-Za-z0-9]+(\w?)/g, (_, letter: string) => letter.toUpperCase())}`
}
