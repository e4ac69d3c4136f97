// Declarations of /sbom: bills of materials, findings as SARIF, decisions as OpenVEX; part of the enterprise edition.
import Type from 'typebox'
import { SBOM_FORMATS } from '../../packages/documents/sbom.ts'
import { NameVersion, Narrowed } from '../security/schemas.ts'
import { declare } from '../http/route.ts'

export const Format = {
  format: Type.Enum([...SBOM_FORMATS], { default: 'cyclonedx', description: 'CycloneDX 1.5 or SPDX 2.3, both JSON' }),
}

export const InDistribution = { distribution: Type.Optional(Type.String()) }

/** CycloneDX and SPDX, by `format` */
const BOM_MEDIA = ['application/vnd.cyclonedx+json', 'application/spdx+json']

export const common = { method: 'GET', tag: 'sbom', access: 'auditor+', flags: { enterprise: 'sbom' } } as const

export const getSbomExport = declare({
  ...common,
  path: '/sbom/export',
  summary: 'The SBOM of all published packages',
  query: Type.Object({ ...Format, ...InDistribution }),
  answer: null,
  media: BOM_MEDIA,
  problems: ['unknown_distribution'],
})

export const getSbomPreview = declare({
  ...common,
  path: '/sbom/preview',
  summary: 'The document for the first packages of an export, and the counts',
  query: Type.Object({ ...Format, ...InDistribution }),
  answer: Type.Object(
    {
      total_packages: Type.Integer(),
      format: Type.String(),
      preview: Type.Object({}, { additionalProperties: true }),
    },
    { title: 'SbomPreview' },
  ),
  problems: ['unknown_distribution'],
})

export const getSbomSarif = declare({
  ...common,
  path: '/sbom/sarif',
  summary: 'The findings of all published packages, as SARIF 2.1.0',
  query: Type.Object(InDistribution),
  answer: null,
  media: ['application/sarif+json'],
  problems: ['unknown_distribution'],
})

export const getSbomOpenvex = declare({
  ...common,
  path: '/sbom/openvex',
  summary: 'The active decisions, as OpenVEX statements',
  query: Type.Object(InDistribution),
  answer: null,
  media: ['application/json'],
  problems: ['unknown_distribution'],
})

export const getSbomNameVersion = declare({
  ...common,
  path: '/sbom/{name}/{version}',
  summary: 'The SBOM of one version; of several records, the newest published one',
  params: NameVersion,
  query: Type.Object({ ...Format, ...Narrowed.properties }),
  answer: null,
  media: BOM_MEDIA,
  problems: ['not_found'],
})

export const getSbomNameVersionSarif = declare({
  ...common,
  path: '/sbom/{name}/{version}/sarif',
  summary: 'The findings of one version, as SARIF 2.1.0',
  params: NameVersion,
  query: Narrowed,
  answer: null,
  media: ['application/sarif+json'],
  problems: ['not_found'],
})
