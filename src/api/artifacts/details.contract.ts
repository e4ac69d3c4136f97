// Declarations about one version of a package: its files, and the packages that need it.
import Type from 'typebox'
import { pageOf, pageQuery } from '../http/schemas.ts'
import { NameVersion, Narrowed } from '../security/schemas.ts'
import { declare } from '../http/route.ts'

const About = Type.Object({
  package: Type.String(),
  version: Type.String(),
  arch: Type.String(),
  distribution: Type.String(),
})

export const getArtifactsNameVersionFiles = declare({
  method: 'GET',
  path: '/artifacts/{name}/{version}/files',
  tag: 'artifacts',
  summary: 'The paths of the files of one version, in the order of its archive',
  access: 'reader+',
  params: NameVersion,
  query: Type.Object({
    ...pageQuery({ perPage: 200, max: 1000 }),
    ...Narrowed.properties,
    q: Type.Optional(Type.String({ minLength: 1, maxLength: 200, description: 'part of the path, in any case' })),
  }),
  answer: Type.Intersect([pageOf(Type.String()), About]),
  problems: ['validation_error', 'not_found'],
})

export const DependantSchema = Type.Object(
  {
    name: Type.String(),
    version: Type.String(),
    arch: Type.String(),
    requirements: Type.Array(Type.String(), { description: 'those that it meets' }),
    only: Type.Boolean({ description: 'no other published package meets one of them' }),
  },
  { title: 'Dependant' },
)

export const getArtifactsNameVersionDependants = declare({
  method: 'GET',
  path: '/artifacts/{name}/{version}/dependants',
  tag: 'artifacts',
  summary: 'The published packages of the distribution that need this version, or would accept it',
  access: 'reader+',
  params: NameVersion,
  query: Type.Object({ ...pageQuery(), ...Narrowed.properties }),
  answer: Type.Intersect(
    [
      pageOf(DependantSchema),
      About,
      Type.Object({ total_capped: Type.Boolean({ description: 'there may be more than `total`' }) }),
    ],
    { title: 'DependantPage' },
  ),
  problems: ['validation_error', 'not_found'],
})
