// /sbom: bills of materials, findings as SARIF, decisions as OpenVEX; part of the enterprise edition.
import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import Type from 'typebox'
import { SBOM_FORMATS, type Document, type Sbom } from '../sbom/sbom.ts'
import { route, type Route } from './route.ts'
import { NameVersion, Narrowed } from './security-schemas.ts'

const Format = {
  format: Type.Enum([...SBOM_FORMATS], { default: 'cyclonedx', description: 'CycloneDX 1.5 or SPDX 2.3, both JSON' }),
}
const InDistribution = { distribution: Type.Optional(Type.String()) }

export function sbomRoutes({ sbom }: { sbom: Sbom }): Route[] {
  const common = { method: 'GET', tag: 'sbom', access: 'auditor+', flags: { enterprise: 'sbom' } } as const
  return [
    route({
      ...common,
      path: '/sbom/export',
      summary: 'The bill of materials of everything that is offered',
      query: Type.Object({ ...Format, ...InDistribution }),
      answer: null,
      problems: ['unknown_distribution'],
      handle: async ({ query, reply }) => send(reply, await sbom.ofRepository(query.distribution, query.format)),
    }),
    route({
      ...common,
      path: '/sbom/preview',
      summary: 'The document that the first packages of an export would make',
      query: Type.Object({ ...Format, ...InDistribution }),
      answer: Type.Object({ total_packages: Type.Integer(), format: Type.String(), preview: Type.Object({}) }),
      problems: ['unknown_distribution'],
      handle: ({ query }) => sbom.preview(query.distribution, query.format),
    }),
    route({
      ...common,
      path: '/sbom/sarif',
      summary: 'The findings of everything that is offered, as SARIF 2.1.0',
      query: Type.Object(InDistribution),
      answer: null,
      problems: ['unknown_distribution'],
      handle: async ({ query, reply }) => send(reply, await sbom.sarifOfRepository(query.distribution)),
    }),
    route({
      ...common,
      path: '/sbom/openvex',
      summary: 'The decisions in force, as OpenVEX statements',
      query: Type.Object(InDistribution),
      answer: null,
      problems: ['unknown_distribution'],
      handle: async ({ query, reply }) => send(reply, await sbom.openvex(query.distribution)),
    }),
    route({
      ...common,
      path: '/sbom/{name}/{version}',
      summary: 'The bill of materials of one version: of several records the newest that is published',
      params: NameVersion,
      query: Type.Object({ ...Format, ...Narrowed.properties }),
      answer: null,
      problems: ['not_found'],
      handle: async ({ params, query: { format, ...narrowed }, reply }) =>
        send(reply, await sbom.ofPackage({ ...params, ...narrowed }, format)),
    }),
    route({
      ...common,
      path: '/sbom/{name}/{version}/sarif',
      summary: 'The findings of one version, as SARIF 2.1.0',
      params: NameVersion,
      query: Narrowed,
      answer: null,
      problems: ['not_found'],
      handle: async ({ params, query, reply }) => send(reply, await sbom.sarifOfPackage({ ...params, ...query })),
    }),
  ]
}

/** An attachment whose text is read as fast as the client takes it. */
function send(reply: FastifyReply, { mediaType, filename, content }: Document) {
  reply.type(mediaType).header('content-disposition', `attachment; filename="${filename}"`)
  return reply.send(Readable.from(content))
}
