// /sbom: bills of materials, findings as SARIF, decisions as OpenVEX; part of the enterprise edition.
import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { type Document, type Sbom } from '../../packages/documents/sbom.ts'
import { type Route } from '../http/route.ts'
import {
  getSbomExport,
  getSbomPreview,
  getSbomSarif,
  getSbomOpenvex,
  getSbomNameVersion,
  getSbomNameVersionSarif,
} from './sbom.contract.ts'
import { handle } from '../http/route.ts'

export function sbomRoutes({ sbom }: { sbom: Sbom }): Route[] {
  return [
    handle(getSbomExport, async ({ query, reply }) =>
      send(reply, await sbom.ofRepository(query.distribution, query.format)),
    ),
    handle(getSbomPreview, ({ query }) => sbom.preview(query.distribution, query.format)),
    handle(getSbomSarif, async ({ query, reply }) => send(reply, await sbom.sarifOfRepository(query.distribution))),
    handle(getSbomOpenvex, async ({ query, reply }) => send(reply, await sbom.openvex(query.distribution))),
    handle(getSbomNameVersion, async ({ params, query: { format, ...narrowed }, reply }) =>
      send(reply, await sbom.ofPackage({ ...params, ...narrowed }, format)),
    ),
    handle(getSbomNameVersionSarif, async ({ params, query, reply }) =>
      send(reply, await sbom.sarifOfPackage({ ...params, ...query })),
    ),
  ]
}

/** Streams an attachment as fast as the client reads. */
function send(reply: FastifyReply, { mediaType, filename, content }: Document) {
  reply.type(mediaType).header('content-disposition', `attachment; filename="${filename}"`)
  return reply.send(Readable.from(content))
}
