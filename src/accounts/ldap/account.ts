// The account that an entry of the directory stands for.
import type { Settings } from '../../domain/settings.ts'
import type { ExternalAccount } from '../external-account.ts'
import type { Person } from './directory.ts'
import { mapsGroups, roleOf } from './names.ts'

export function accountOf(person: Person, ldap: Settings['ldap']): ExternalAccount {
  return {
    source: 'ldap',
    externalId: null,
    // The name of the entry, which may be found by another attribute than the one that was typed.
    username: person.username,
    email: person.email,
    fullName: person.fullName,
    role: roleOf(person.groups, ldap),
    keepsRole: !mapsGroups(ldap),
    mayCreate: ldap.auto_provision,
  }
}
