// /openapi.json, /docs and /redoc, in development only. The pages load nothing from other servers.
import { createReadStream } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import Type from 'typebox'
import { route, type Route } from './route.ts'

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

export function docsRoutes(document: () => Record<string, unknown>): Route[] {
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
    route({ ...common, path: '/openapi.json', summary: 'This document', handle: async () => document() }),
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
