// SQL is written in the rooms that own the tables; the other rooms call named queries.
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'

const SRC = resolve(import.meta.dirname, '../../src')
/** The rooms that own tables (`store/tables`), with the jobs that claim rows of these. */
const OWNERS = [
  'accounts',
  'app/jobs',
  'audit',
  'imports',
  'intake',
  'operations',
  'packages',
  'proxies',
  'publish',
  'registries',
  'review',
  'store',
  'tasks',
]

const writesSql = (text: string) => /\bsql(?:<[^`]*>)?`|\.(?:selectFrom|insertInto|updateTable|deleteFrom)\(/.test(text)

test('rooms that own no table have SQL in -query files only', () => {
  const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('.ts') && !/\.(?:test|fixture)\.ts$|(?:^|\/)fixture\.ts$|-query\.ts$/.test(name),
  )
  const withSql = files.filter((name) => writesSql(readFileSync(join(SRC, name), 'utf8')))
  expect(withSql.length).toBeGreaterThan(50)
  expect(withSql.filter((name) => !OWNERS.some((room) => name.startsWith(`${room}/`)))).toEqual([])
})
