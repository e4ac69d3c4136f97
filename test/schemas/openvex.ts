// OpenVEX 0.2.0 (https://github.com/openvex/spec/blob/main/OPENVEX-SPEC.md), only the parts that are used here.
import Type from 'typebox'

const closed = { additionalProperties: false }
const text = Type.String({ minLength: 1 })
const iri = Type.String({ format: 'uri' })
const time = Type.String({ format: 'date-time' })

const product = Type.Object(
  {
    '@id': iri,
    identifiers: Type.Object({ purl: Type.String({ pattern: '^pkg:' }) }, closed),
    hashes: Type.Object(
      { 'sha-256': Type.String({ pattern: '^[0-9a-f]{64}$' }), 'sha-512': Type.String({ pattern: '^[0-9a-f]{128}$' }) },
      closed,
    ),
  },
  closed,
)

/** "Status labels": `affected` needs an action statement. */
const statement = Type.Object(
  {
    vulnerability: Type.Object({ name: text }, closed),
    timestamp: time,
    products: Type.Array(product, { minItems: 1, uniqueItems: true }),
    status: Type.Literal('affected'),
    action_statement: text,
    action_statement_timestamp: time,
  },
  closed,
)

export const openvexDocument = Type.Object(
  {
    '@context': Type.Literal('https://openvex.dev/ns/v0.2.0'),
    '@id': iri,
    author: text,
    role: Type.Optional(text),
    timestamp: time,
    version: Type.Integer({ minimum: 1 }),
    tooling: Type.Optional(text),
    statements: Type.Array(statement, { uniqueItems: true }),
  },
  closed,
)
