import { describe, expect, test } from 'vitest'
import { DEFAULTS } from '../fixture.ts'
import { escapeFilterValue, filterFor, keyOfGroup, keysOfValue, mapsGroups, normalDn, roleOf } from './names.ts'

test.each([
  ['alice', 'alice'],
  ['*)(uid=*', '\\2a\\29\\28uid=\\2a'],
  ['a\\b', 'a\\5cb'],
  ['a\0b', 'a\\00b'],
  ['Jürgen', 'Jürgen'],
])('%j is %j inside a filter', (value, escaped) => {
  expect(escapeFilterValue(value)).toBe(escaped)
})

test('a name is put into every place of a filter as it is', () => {
  expect(filterFor('(|(uid={username})(mail={username}))', '$&*')).toBe('(|(uid=$&\\2a)(mail=$&\\2a))')
})

test.each([
  ['CN=Repo Admins,OU=Groups,DC=example,DC=org', 'cn=repo admins,ou=groups,dc=example,dc=org'],
  [' CN = Repo Admins , OU=Groups', 'cn=repo admins,ou=groups'],
  ['cn=a\\,b,dc=x', 'cn=a\\2cb,dc=x'],
  ['cn=a\\2Cb,dc=x', 'cn=a\\2cb,dc=x'],
  ['cn=J\\C3\\BCrgen', 'cn=jürgen'],
  ['cn=ends in a space\\ ', 'cn=ends in a space '],
  ['uid=b+cn=a,dc=x', 'cn=a+uid=b,dc=x'],
  ['2.5.4.3=a', '2.5.4.3=a'],
  ['admins', null],
  ['', null],
  ['cn=a,', null],
  ['cn=a,b', null],
  ['=a', null],
  ['cn=\\FF', null],
])('the DN %j is %j', (text, normal) => {
  expect(normalDn(text)).toBe(normal)
})

test.each([
  ['cn=repo-admins,ou=groups,dc=x', 'repo-admins', true],
  ['cn=Repo-Admins,ou=groups,dc=x', 'repo-admins', true],
  ['cn=repo-admins,ou=groups,dc=x', 'admins', false],
  ['cn=repo-admins,ou=groups,dc=x', 'groups', false],
  ['cn=repo-admins,ou=groups,dc=x', 'CN=repo-admins, OU=groups, DC=x', true],
  ['cn=repo-admins,ou=other,dc=x', 'cn=repo-admins,ou=groups,dc=x', false],
  ['cn=repo-admins,ou=groups,dc=x', 'cn=repo-admins', false],
  ['cn=x\\,cn=admins,dc=x', 'admins', false],
  ['cn=x\\,admins,dc=x', 'x,admins', true],
  ['repo-admins', 'Repo-Admins', true],
  ['repo-admins', 'repo', false],
  ['cn=admins+ou=x,dc=x', 'admins', false],
  ['cn=cn\\=admins,dc=x', 'cn=admins', false],
  ['cn=dn cn\\=admins,dc=x', 'cn=admins', false],
])('the group %j is %j: %s', (value, group, is) => {
  expect(keysOfValue(value).includes(keyOfGroup(group))).toBe(is)
})

describe('the role', () => {
  const ldap = { ...DEFAULTS.ldap, group_admin: 'ops', group_uploader: 'devs', default_role: 'auditor' as const }
  test.each([
    [['cn=devs,dc=x', 'cn=ops,dc=x'], 'admin'],
    [['cn=devs,dc=x'], 'uploader'],
    [['cn=dev,dc=x', 'cn=xdevs,dc=x'], 'auditor'],
    [[], 'auditor'],
  ])('of a member of %j is %s', (groups, role) => {
    expect(roleOf(groups, ldap)).toBe(role)
  })

  test('is mapped when any group is named', () => {
    expect([mapsGroups(DEFAULTS.ldap), mapsGroups(ldap)]).toEqual([false, true])
  })
})
