import { expect, test } from 'vitest'
import { connectionOf } from './pg-dump.ts'

test.each([
  ['postgres://u:p%40ss@h:5433/db', 'postgres://u@h:5433/db', 'p@ss'],
  ['postgres://u@h/db', 'postgres://u@h/db', null],
  [
    'postgres://h/db?user=u&password=secret&sslmode=verify-full',
    'postgres://h/db?user=u&sslmode=verify-full',
    'secret',
  ],
  ['postgres://u:p@h/db?sslmode=no-verify&max=3', 'postgres://u@h/db?sslmode=require', 'p'],
  ['postgres://u:p@h/db?ssl=true', 'postgres://u@h/db?sslmode=require', 'p'],
  ['postgres:///db?host=/run/my+sockets', 'postgres:///db?host=%2Frun%2Fmy%20sockets', null],
])('the arguments for %s have no password', (url, connection, password) => {
  expect(connectionOf(url)).toEqual({ connection, password })
})
