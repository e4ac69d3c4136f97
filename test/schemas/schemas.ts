// Validates documents. For CycloneDX and SARIF it uses the official schemas in two npm packages. No package contains those
// of SPDX and OpenVEX: schemas written from their specifications check the used parts, and the official ones are also
// used when SPDX_SCHEMA and OPENVEX_SCHEMA name their files.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { Ajv, type ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { openvexDocument } from './openvex.ts'
import { spdxDocument } from './spdx.ts'

const locate = createRequire(import.meta.url)
const parse = (path: string) => JSON.parse(readFileSync(path, 'utf8')) as object

function validator(schema: object, others: Record<string, object> = {}, options: object = {}): ValidateFunction {
  const dialect = (schema as { $schema?: string }).$schema?.includes('2020-12') ? Ajv2020 : Ajv
  const ajv = new dialect({ strict: false, allErrors: true, ...options })
  addFormats.default(ajv)
  // Two formats of later drafts, checked as strictly as the formats that they extend.
  ajv.addFormat('iri-reference', (text: string) =>
    ajv.validate({ type: 'string', format: 'uri-reference' }, encodeURI(decodeURI(text))),
  )
  ajv.addFormat('idn-email', /^[^@\s]+@[^@\s]+$/)
  for (const [address, other] of Object.entries(others)) ajv.addSchema(other, address)
  return ajv.compile(schema)
}

function cyclonedxSchemas(): [schema: object, others: Record<string, object>] {
  const directory = join(dirname(locate.resolve('@cyclonedx/cyclonedx-library/package.json')), 'res', 'schema')
  const file = (name: string) => parse(join(directory, `${name}.SNAPSHOT.schema.json`))
  const others = ['spdx', 'jsf-0.82'].map((name) => [
    `http://cyclonedx.org/schema/${name}.SNAPSHOT.schema.json`,
    file(name),
  ])
  return [file('bom-1.5'), Object.fromEntries(others) as Record<string, object>]
}

function sarifSchema(): object {
  // Draft 4 differs from later drafts only in the name of the schema's own id.
  const {
    id: _id,
    $schema: _draft,
    ...schema
  } = parse(
    join(dirname(locate.resolve('@microsoft/jest-sarif/package.json')), 'lib', 'schemas', 'sarif-2.1.0-rtm.5.json'),
  ) as Record<string, unknown>
  return schema
}

function named(variable: string): ValidateFunction[] {
  const path = process.env[variable]
  if (!path) return []
  const schema = parse(path) as { properties?: { statements?: { minItems?: number } } }
  // The OpenVEX schema requires a statement; the specification and the reference library do not.
  delete schema.properties?.statements?.minItems
  return [validator(schema)]
}

export type Standard = 'cyclonedx' | 'spdx' | 'sarif' | 'openvex'

/** Each schema is compiled once, on first use, because compiling takes a second. */
export function createStandards(): (standard: Standard, document: unknown) => string[] {
  const made = new Map<Standard, ValidateFunction[]>()
  const make: Record<Standard, () => ValidateFunction[]> = {
    cyclonedx: () => [validator(...cyclonedxSchemas())],
    // One of its patterns is not a valid Unicode regular expression.
    sarif: () => [validator(sarifSchema(), {}, { unicodeRegExp: false })],
    spdx: () => [validator(spdxDocument), ...named('SPDX_SCHEMA')],
    openvex: () => [validator(openvexDocument), ...named('OPENVEX_SCHEMA')],
  }
  return (standard, document) => {
    const validators = made.get(standard) ?? make[standard]()
    made.set(standard, validators)
    return validators.flatMap((validate) =>
      validate(document)
        ? []
        : (validate.errors ?? []).map(
            (error) => `${error.instancePath} ${error.message} ${JSON.stringify(error.params)}`,
          ),
    )
  }
}

/** Checks what a schema cannot: every reference has a target in the document, and every id is unique. */
export function danglingIn(standard: 'cyclonedx' | 'spdx' | 'sarif', document: any): string[] {
  if (standard === 'spdx') {
    const ids: string[] = ['SPDXRef-DOCUMENT', 'NONE', ...document.packages.map((each: any) => each.SPDXID)]
    const relations: string[] = document.relationships.map((each: object) => JSON.stringify(each))
    const used = document.relationships.flatMap((each: any) => [each.spdxElementId, each.relatedSpdxElement])
    const licenses = new Set(document.hasExtractedLicensingInfos.map((each: any) => each.licenseId))
    const declared = document.packages
      .map((each: any) => each.licenseDeclared)
      .filter((text: string) => text.startsWith('LicenseRef-'))
    return [
      ...missing(used, ids),
      ...twice(ids),
      ...twice(relations),
      ...declared.filter((id: string) => !licenses.has(id)),
    ]
  }
  if (standard === 'sarif') {
    const [run] = document.runs
    const rules = run.tool.driver.rules.map((rule: any) => rule.id)
    return [
      ...missing(
        run.results.map((result: any) => result.ruleId),
        rules,
      ),
      ...twice(rules),
      ...twice(run.results.map((result: any) => result.partialFingerprints['gatehouse/v1'])),
    ]
  }
  const components = document.components.flatMap((each: any) => [each, ...(each.components ?? [])])
  const refs = [document.metadata.component['bom-ref'], ...components.map((each: any) => each['bom-ref'])]
  const used = [
    ...document.dependencies.flatMap((each: any) => [each.ref, ...each.dependsOn]),
    ...document.vulnerabilities.flatMap((each: any) => each.affects.map((affected: any) => affected.ref)),
  ]
  return [
    ...missing(used, refs),
    ...twice(refs),
    ...twice(document.dependencies.map((each: any) => each.ref)),
    ...twice(document.vulnerabilities.map((each: any) => each['bom-ref'])),
  ]
}

const missing = (used: string[], known: string[]) =>
  [...new Set(used)].filter((id) => !known.includes(id)).map((id) => `${id} is nowhere`)
const twice = (ids: string[]) => ids.filter((id, at) => ids.indexOf(id) !== at).map((id) => `${id} is there twice`)
