// The client and the command: their allowed imports, and what only one file of the command touches.
import { readdirSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = resolve(import.meta.dirname, '../..')

/** Files of a workspace without its tests, with what each imports. */
function filesOf(workspace: string): { name: string; text: string; imports: string[] }[] {
  return readdirSync(`${ROOT}/${workspace}/src`, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts') && name !== 'operations.ts')
    .map((name) => {
      const text = readFileSync(`${ROOT}/${workspace}/src/${name}`, 'utf8')
      return { name, text, imports: [...text.matchAll(/(?:from|import) '([^']+)'/g)].map((match) => match[1] ?? '') }
    })
}

const outside = (imports: string[]) => imports.filter((one) => !one.startsWith('.'))

test('the client imports nothing but itself, so it runs in Node and in browsers', () => {
  const files = filesOf('client')
  expect(files.length).toBeGreaterThan(5)
  expect(files.flatMap(({ name, imports }) => outside(imports).map((one) => `${name} ${one}`))).toEqual([])
  expect(files.filter(({ text }) => /\bprocess\.|\bBuffer\b/.test(text)).map(({ name }) => name)).toEqual([])
})

test('the command knows the service by the client alone', () => {
  const allowed = /^(node:.+|gatehouse-client|commander|undici)$/
  const files = filesOf('cli')
  expect(files.length).toBeGreaterThan(15)
  expect(files.flatMap(({ imports }) => outside(imports)).filter((one) => !allowed.test(one))).toEqual([])
  expect(files.flatMap(({ imports }) => imports).filter((one) => one.includes('../../'))).toEqual([])
})

test('only main.ts of the command touches the process', () => {
  const readers = filesOf('cli').filter(({ text }) => /\bprocess\.(?!platform|pid)/.test(text))
  expect(readers.map(({ name }) => name)).toEqual(['main.ts'])
})

test('the service imports neither of them', () => {
  const wrong = readdirSync(`${ROOT}/src`, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .filter((name) =>
      /from '(gatehouse-client|gatehouse-cli|.*\/(client|cli)\/src\/)/.test(
        readFileSync(`${ROOT}/src/${name}`, 'utf8'),
      ),
    )
  expect(wrong).toEqual([])
})
