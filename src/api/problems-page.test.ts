import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { PROBLEM_HELP } from '../domain/problem-help.ts'
import { PROBLEM_CODES } from '../domain/problem.ts'
import { problemsPage } from './problems-page.ts'

test('docs/error-codes.md says what the declaration says (else: npm run docs)', async () => {
  expect(await readFile(new URL('../../docs/error-codes.md', import.meta.url), 'utf8')).toBe(problemsPage())
})

test.each(PROBLEM_CODES)('%s has one row, with whole sentences for its cause and what to do', (code) => {
  expect(problemsPage().split(`\n| \`${code}\` |`)).toHaveLength(2)
  for (const sentence of Object.values(PROBLEM_HELP[code])) expect(sentence).toMatch(/^[A-Z`].{8,}[.]$/)
})
