// SPDX 2.3 (https://spdx.github.io/spdx-spec/v2.3/) clause by clause, only the parts that are used here.
import Type from 'typebox'

const closed = { additionalProperties: false }
const text = Type.String({ minLength: 1 })
const id = Type.String({ pattern: '^SPDXRef-[A-Za-z0-9.-]+$' })
const licenseId = Type.String({ pattern: '^LicenseRef-[A-Za-z0-9.-]+$' })
const agent = Type.String({ pattern: '^(NOASSERTION|(Person|Organization): [^()]+( \\([^()\\s]+@[^()\\s]+\\))?)$' })
/** Clause 7.10. */
const LENGTHS = { MD5: 32, SHA1: 40, SHA256: 64, SHA512: 128 }
const checksum = Type.Union(
  Object.entries(LENGTHS).map(([algorithm, length]) =>
    Type.Object(
      { algorithm: Type.Literal(algorithm), checksumValue: Type.String({ pattern: `^[0-9a-f]{${length}}$` }) },
      closed,
    ),
  ),
)
/** Clause 7.21 and annex F.3.5. */
const reference = Type.Object(
  {
    referenceCategory: Type.Literal('PACKAGE-MANAGER'),
    referenceType: Type.Literal('purl'),
    referenceLocator: Type.String({ pattern: '^pkg:[a-z]+/\\S+$' }),
  },
  closed,
)

/** Clause 7. The tests of src/packages/documents check the expressions in `licenseDeclared`. */
const packageInformation = Type.Object(
  {
    SPDXID: id,
    name: text,
    versionInfo: Type.Optional(text),
    packageFileName: Type.Optional(text),
    supplier: agent,
    downloadLocation: Type.Literal('NOASSERTION'),
    filesAnalyzed: Type.Literal(false),
    checksums: Type.Optional(Type.Array(checksum, { uniqueItems: true })),
    homepage: Type.Optional(Type.String({ format: 'uri' })),
    sourceInfo: Type.Optional(text),
    licenseConcluded: Type.Literal('NOASSERTION'),
    licenseDeclared: text,
    copyrightText: Type.Literal('NOASSERTION'),
    description: Type.Optional(text),
    comment: Type.Optional(text),
    externalRefs: Type.Optional(Type.Array(reference, { minItems: 1 })),
  },
  closed,
)

/** Clause 11, only the relationship types in use. */
const relationship = Type.Object(
  {
    spdxElementId: id,
    relationshipType: Type.Enum(['DESCRIBES', 'CONTAINS', 'DEPENDS_ON']),
    relatedSpdxElement: Type.Union([id, Type.Literal('NONE')]),
  },
  closed,
)

/** Clauses 6 and 10. */
export const spdxDocument = Type.Object(
  {
    spdxVersion: Type.Literal('SPDX-2.3'),
    dataLicense: Type.Literal('CC0-1.0'),
    SPDXID: Type.Literal('SPDXRef-DOCUMENT'),
    name: text,
    documentNamespace: Type.String({ format: 'uri', pattern: '^[^#]+$' }),
    creationInfo: Type.Object(
      {
        created: Type.String({ pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ$' }),
        creators: Type.Array(Type.String({ pattern: '^Tool: ' }), { minItems: 1 }),
      },
      closed,
    ),
    packages: Type.Array(packageInformation),
    relationships: Type.Array(relationship),
    hasExtractedLicensingInfos: Type.Array(Type.Object({ licenseId, extractedText: text, name: text }, closed)),
  },
  closed,
)
