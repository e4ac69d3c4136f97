import { expect, test } from 'vitest'
import { statementOf } from './sql-span.ts'

test.each<[string, string, string | null]>([
  ['select "a" from "packages" where "id" = $1', 'SELECT', 'packages'],
  ['  SELECT count(*) FROM catalog c', 'SELECT', 'catalog'],
  ['insert into "audit" ("seq") values ($1)', 'INSERT', 'audit'],
  ['update "tasks" set "state" = $1', 'UPDATE', 'tasks'],
  ['delete from "findings"', 'DELETE', 'findings'],
  ['with kept as (select 1) delete from catalog', 'WITH', 'catalog'],
  ['select 1 from jsonb_to_recordset($1) as r', 'SELECT', null],
  ['select "a" from "public"."packages"', 'SELECT', null],
  ['select extract(epoch from (now() - $1))', 'SELECT', null],
  ['begin', 'BEGIN', null],
  ['commit', 'COMMIT', null],
  ['', 'OTHER', null],
  ["'; drop table users --", 'OTHER', 'users'],
  [`select ${'x'.repeat(100_000)}`, 'SELECT', null],
  [`select 1 from ${'y'.repeat(100)}`, 'SELECT', null],
])('%.60s is %s of %s', (text, verb, table) => {
  expect(statementOf(text)).toEqual({ verb, table })
})
