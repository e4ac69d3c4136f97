// The template of the route that a request found, such as `/api/v1/artifacts/{name}`.
import type { FastifyRequest } from 'fastify'
import { pathOf } from './paths.ts'
import type { Route } from './route.ts'

/** @returns null for a path without a route */
export function templateOf(request: FastifyRequest): string | null {
  const { route } = request.routeOptions.config as { route?: Route }
  return route ? pathOf(route) : null
}
