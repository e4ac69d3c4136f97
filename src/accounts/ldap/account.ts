// The account that belongs to an entry of the directory.
import type { Settings } from '../../domain/settings.ts'
import type { ExternalAccount } from '../external-account.ts'
import type { Person } from './entries.ts'
import { mapsGroups, roleOf } from './names.ts'

export function accountOf(person: Person, ldap: Settings['ldap']): ExternalAccount {
  return {
    source: 'ldap',
    externalId: null,
    // The name in the entry: people may log in with the value of another attribute.
    username: person.username,
    email: person.email,
    fullName: person.fullName,
    role: roleOf(person.groups, ldap),
    groups: person.groups,
    keepsRole: !mapsGroups(ldap),
    mayCreate: ldap.auto_provision,
  }
}
