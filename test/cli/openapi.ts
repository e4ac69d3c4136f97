// Whether an answer matches its endpoint in dist/openapi.json.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'

const document = JSON.parse(readFileSync(join(import.meta.dirname, '..', '..', 'dist', 'openapi.json'), 'utf8'))
const ajv = new Ajv2020({ strict: false, validateFormats: false })
ajv.addSchema(document, 'openapi')

/** @returns the mismatches; empty when everything matches */
export function answerFits(method: string, path: string, answer: unknown): string[] {
  const { responses } = document.paths[path][method.toLowerCase()]
  const { $ref } = (responses['200'] ?? responses['201']).content['application/json'].schema
  const validate = ajv.compile({ $ref: `openapi${$ref}` })
  validate(answer)
  return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`)
}
