import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { PROBLEM_HELP } from '../../domain/problem-help.ts'
import { PROBLEM_CODES } from '../../domain/problem.ts'
import { VARIABLES } from '../../config/variables.ts'
import { SettingsSchema } from '../../domain/settings.ts'
import { declarations } from '../contract.ts'
import { API_PREFIX, pathOf } from './paths.ts'
import { problemsPage } from './problems-page.ts'

test('docs/error-codes.md says what the declaration says (else: npm run docs)', async () => {
  expect(await readFile(new URL('../../../docs/error-codes.md', import.meta.url), 'utf8')).toBe(problemsPage())
})

test.each(PROBLEM_CODES)('%s has one row, with whole sentences for its cause and what to do', (code) => {
  expect(problemsPage().split(`\n| \`${code}\` |`)).toHaveLength(2)
  for (const sentence of Object.values(PROBLEM_HELP[code])) expect(sentence).toMatch(/^[A-Z`].{8,}[.]$/)
})

const quoted = (code: (typeof PROBLEM_CODES)[number]) =>
  [...PROBLEM_HELP[code].remedy.matchAll(/`([^`]+)`/g)].map(([, text = '']) => text)
const withoutSlash = (path: string) => path.replace(/\/$/, '')
const ROUTES = declarations.map((one) => [one.method, withoutSlash(pathOf(one))] as const)
/** What a request of some route, or the settings, may have. */
const FIELDS = new Set(
  [SettingsSchema, ...declarations.flatMap(({ body, query }) => [body, query])]
    .flatMap((schema) => [...JSON.stringify(schema ?? {}).matchAll(/"(\w+)":\{/g)])
    .map(([, name]) => name),
)
const NAMES = new Set(Object.values(VARIABLES).map(({ name }) => name))

/** What a remedy names and nobody could follow: addresses that no route has, fields that no request has, unknown variables. */
const missingOf = (code: (typeof PROBLEM_CODES)[number]) =>
  quoted(code).filter((text) => {
    const [, method, path] = /^(?:([A-Z]+) )?(\/[\w/{}-]*)$/.exec(text) ?? []
    if (path !== undefined && path !== API_PREFIX)
      return !ROUTES.some(
        ([of, at]) =>
          (method === undefined || method === of) && [path, API_PREFIX + path].map(withoutSlash).includes(at),
      )
    const [, field] = /^([a-z]\w*)(?:: |=)(?:true|false)$/.exec(text) ?? []
    if (field !== undefined) return !FIELDS.has(field)
    const [, variable] = /^([A-Z]+_[A-Z_]+)(?:[/=].*)?$/.exec(text) ?? []
    return variable !== undefined && !NAMES.has(variable)
  })

test.each(PROBLEM_CODES.filter((code) => quoted(code).length > 0))('what the remedy of %s names exists', (code) => {
  expect(missingOf(code)).toEqual([])
})
