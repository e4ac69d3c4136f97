import { expect, test } from 'vitest'
import { readFile } from 'node:fs/promises'
import { settingsPage } from './settings-page.ts'
import { LEAVES } from './leaves.ts'

test('docs/settings.md says what the declaration says (else: tsc -p tsconfig.build.json, node bin/docs.mjs)', async () => {
  expect(await readFile(new URL('../../../docs/settings.md', import.meta.url), 'utf8')).toBe(settingsPage())
})

test('every setting has its row of four cells', () => {
  const rows = settingsPage()
    .split('\n')
    .filter((line) => /^\| `/.test(line))
  expect(rows).toHaveLength(LEAVES.size)
  for (const row of rows) expect(row.split(/(?<!\\)\|/)).toHaveLength(6)
})
