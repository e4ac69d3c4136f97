// Declaration of /openapi.json below /api/v1, in production too. The pages that show it are for development.
import Type from 'typebox'
import { declare } from '../http/route.ts'

export const getOpenapiJson = declare({
  method: 'GET',
  path: '/openapi.json',
  tag: 'documentation',
  summary: 'This document',
  access: 'reader+',
  action: 'always',
  answer: Type.Object(
    {
      openapi: Type.String(),
      info: Type.Object({ title: Type.String(), version: Type.String(), description: Type.String() }),
      security: Type.Array(Type.Object({ bearer: Type.Array(Type.String()) })),
      servers: Type.Array(Type.Object({ url: Type.String() })),
      components: Type.Object({}, { additionalProperties: true }),
      paths: Type.Object({}, { additionalProperties: true }),
    },
    { title: 'OpenapiDocument' },
  ),
  problems: [],
})
