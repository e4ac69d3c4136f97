// Every test that THREATS.md names as a proof exists and runs.
import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = resolve(import.meta.dirname, '../..')
const page = readFileSync(`${ROOT}/THREATS.md`, 'utf8')

test('every threat names a test, and every test exists', () => {
  const rows = page.split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('| Threat'))
  const proofs = rows.map((row) =>
    [...(row.split(' | ').at(-1) ?? '').matchAll(/`([^`]+)`/g)].map(([, file = '']) => file),
  )
  expect(rows.length).toBeGreaterThan(20)
  expect(rows.filter((_, at) => proofs[at]?.length === 0)).toEqual([])
  // ci.test.ts checks that test files run.
  expect(proofs.flat().filter((file) => !file.endsWith('.test.ts') || !existsSync(`${ROOT}/${file}`))).toEqual([])
})
