// Some step of .ci/run runs every test file, once.
import { readdirSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import unit from '../../vitest.config.ts'

const ROOT = resolve(import.meta.dirname, '../..')

/** Filters given to vitest by the steps that run the slow suites. */
function suiteFilters(): string[] {
  const script = readFileSync(`${ROOT}/.ci/run`, 'utf8').replaceAll('\\\n', ' ')
  const runs = script.matchAll(/^ *(?:suite|.*vitest\.suites\.config\.ts) (test\/.+)$/gm)
  return [...runs].flatMap(([, names = '']) => names.trim().split(/\s+/))
}

/** Directories that `npm test` runs, from patterns such as `src/**\/*.test.ts`. */
const unitDirectories = (unit.test?.include ?? []).map((pattern) => pattern.slice(0, pattern.indexOf('*')))

const all = ['src', 'client', 'cli', 'web', 'test'].flatMap((directory) =>
  readdirSync(`${ROOT}/${directory}`, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts') && !name.includes('node_modules'))
    .map((name) => `${directory}/${name}`),
)

test('every test file is run by npm test or named by a step of .ci/run', () => {
  const filters = suiteFilters()
  const runs = (file: string) =>
    unitDirectories.some((directory) => file.startsWith(directory)) || filters.some((filter) => file.startsWith(filter))
  expect(filters.length).toBeGreaterThan(10)
  expect(all.filter((file) => !runs(file))).toEqual([])
})

test('no test is tried again until it passes', () => {
  // An option, not the line `retry: 3000` of an event stream.
  const again = /[{,] *retry: [1-9]/
  expect(all.filter((file) => again.test(readFileSync(`${ROOT}/${file}`, 'utf8')))).toEqual([])
})
