import { expect, test } from 'vitest'
import { readFile } from 'node:fs/promises'
import { environmentPage } from './environment-page.ts'
import { VARIABLES } from './variables.ts'

test('docs/environment.md says what the declaration says (else: tsc -p tsconfig.build.json, node bin/docs.mjs)', async () => {
  expect(await readFile(new URL('../../docs/environment.md', import.meta.url), 'utf8')).toBe(environmentPage())
})

test('every variable has its row, and none has two', () => {
  const page = environmentPage()
  for (const { name } of Object.values(VARIABLES)) expect(page.split(`\n| \`${name}\` |`)).toHaveLength(2)
})

test('every row has four cells', () => {
  const rows = environmentPage()
    .split('\n')
    .filter((line) => line.startsWith('|'))
  for (const row of rows) expect(row.split(/(?<!\\)\|/)).toHaveLength(6)
})
