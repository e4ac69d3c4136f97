// Answers to requests without a route: 404, or 405 with the methods that the path allows.
import { Problem } from '../../domain/problem.ts'
import { mounted } from './mount.ts'
import { matcherOf, pathOf, segmentsOf } from './paths.ts'
import type { Route } from './route.ts'

/** @returns a function that makes the answer for a method and path without a route */
export function createNotFound(
  routes: readonly Route[],
  production: boolean,
): (method: string, path: string) => { problem: Problem; allow: string[] } {
  const patterns = mounted(routes, production).map((route) => ({
    method: route.method,
    matches: matcherOf(pathOf(route)),
  }))
  return (method, path) => {
    const segments = segmentsOf(path)
    const declared = patterns.filter(({ matches }) => segments && matches(segments)).map(({ method }) => method)
    // GET implies HEAD.
    const allow = [...new Set(declared.flatMap((one) => (one === 'GET' ? ['GET', 'HEAD'] : [one])))]
    if (allow.length > 0)
      return { allow, problem: new Problem('method_not_allowed', `${method} is not allowed here`, { allow }) }
    const version = /^\/api\/(v\d+)(\/|$)/.exec(path)?.[1]
    const problem =
      version !== undefined && version !== 'v1'
        ? new Problem('unknown_api_version', `there is no API version ${version}`)
        : new Problem('not_found', 'there is nothing at this address')
    return { allow, problem }
  }
}
