import { expect, test } from 'vitest'
import { parseId } from './record-id.ts'
import { groupId, groupName, parseGroup, rowsOf } from './rows.ts'

const item = (name: string) => ({ name, version: '1', arch: 'amd64', distribution: 'noble' }) as never
const group = (key: string, ...names: string[]) =>
  ({
    ...{ key, names, packages_total: names.length, fix_version: null },
    first: { ...(item(names[0] as string) as object), source_package: 'texlive-bin', source_version: '2022.1' },
  }) as never
const ids = (rows: ReturnType<typeof rowsOf>) => rows.map(({ id }) => id)

test('without groups each record is a row', () => {
  expect(ids(rowsOf([item('a'), item('b')], null, null, []))).toEqual(['a 1 amd64 noble', 'b 1 amd64 noble'])
})

test('a group is one row until it is unfolded; a group of one is its record', () => {
  const groups = [group('noble texlive', 'a', 'b'), group('noble curl', 'c')]
  expect(ids(rowsOf([], groups, null, []))).toEqual(['group:noble texlive', 'c 1 amd64 noble'])
  expect(ids(rowsOf([], groups, 'noble texlive', [item('a'), item('b')]))).toEqual([
    ...['group:noble texlive', 'a 1 amd64 noble', 'b 1 amd64 noble', 'c 1 amd64 noble'],
  ])
})

test('the URL names a group or a record, never both', () => {
  expect(parseGroup(groupId('noble curl 7.88'))).toBe('noble curl 7.88')
  expect(parseId(groupId('noble curl 7.88'))).toBeNull()
  expect(parseGroup('curl 7.88 amd64 noble')).toBeNull()
})

test.each([
  ['source', ['a', 'b', 'c'], 'texlive-bin 2022.1'],
  ['findings', ['a', 'b'], 'a and b'],
  ['findings', ['a', 'b', 'c', 'd'], 'a, b and 2 more'],
] as const)('a group by %s of %j is called "%s"', (by, names, name) => {
  expect(groupName(group('k', ...names), by)).toBe(name)
})

test('a group by fix is called by its source and the version', () => {
  expect(groupName({ ...(group('k', 'a', 'b') as object), fix_version: '2022.2' } as never, 'fix')).toBe(
    'texlive-bin: fixed by 2022.2',
  )
})
