// /api/v1/openapi.json, and in development /openapi.json, /docs and /redoc, which load nothing from other servers.
import { createReadStream } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { FastifyReply } from 'fastify'
import Type from 'typebox'
import { handle, route, type Declaration, type Route } from '../http/route.ts'
import { openapi } from './document.ts'
import { getOpenapiJson } from './openapi.contract.ts'

const locate = createRequire(import.meta.url)

/** The files of the two documentation viewers, by the name they are served under. */
function assets(): Record<string, { path: string; type: string }> {
  const swagger = join(dirname(locate.resolve('@fastify/swagger-ui/package.json')), 'static')
  const redoc = dirname(locate.resolve('redoc/package.json'))
  return {
    'swagger-ui.css': { path: join(swagger, 'swagger-ui.css'), type: 'text/css' },
    'swagger-ui-bundle.js': { path: join(swagger, 'swagger-ui-bundle.js'), type: 'text/javascript' },
    'redoc.standalone.js': { path: join(redoc, 'bundles', 'redoc.standalone.js'), type: 'text/javascript' },
    'start.js': { path: '', type: 'text/javascript' },
  }
}

const START = "SwaggerUIBundle({ url: '/openapi.json', dom_id: '#docs', deepLinking: true, validatorUrl: null })\n"

const PAGES = {
  docs: '<link rel="stylesheet" href="/docs/swagger-ui.css"><div id="docs"></div><script src="/docs/swagger-ui-bundle.js"></script><script src="/docs/start.js"></script>',
  redoc: '<redoc spec-url="/openapi.json"></redoc><script src="/docs/redoc.standalone.js"></script>',
}

const POLICY =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; worker-src 'self' blob:; frame-ancestors 'none'"

/** @param version of the service, as package.json has it */
export function docsRoutes(declarations: readonly Declaration[], version: string): Route[] {
  // Made at the first request: most services never get one.
  let made: string | null = null
  const document = () => (made ??= JSON.stringify(openapi(declarations, { version })))
  const send = async ({ reply }: { reply: FastifyReply }) =>
    reply.type('application/json; charset=utf-8').send(document())
  const common = {
    method: 'GET',
    root: true,
    tag: 'documentation',
    access: 'public',
    flags: { developmentOnly: true, hidden: true },
    answer: null,
    problems: [],
  } as const
  return [
    handle(getOpenapiJson, send),
    route({ ...common, path: '/openapi.json', summary: 'This document', handle: send }),
    ...(['docs', 'redoc'] as const).map((name) =>
      route({
        ...common,
        path: `/${name}`,
        summary: 'Interactive documentation',
        async handle({ reply }) {
          reply.type('text/html; charset=utf-8').header('content-security-policy', POLICY)
          return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Gatehouse API</title><body>${PAGES[name]}</body></html>`
        },
      }),
    ),
    route({
      ...common,
      path: '/docs/{file}',
      summary: 'Files of the documentation pages',
      params: Type.Object({
        file: Type.Enum(['swagger-ui.css', 'swagger-ui-bundle.js', 'redoc.standalone.js', 'start.js']),
      }),
      async handle({ params, reply }) {
        const asset = assets()[params.file] as { path: string; type: string }
        reply.type(asset.type)
        return params.file === 'start.js' ? START : reply.send(createReadStream(asset.path))
      },
    }),
  ]
}
