// What an entry of the LDAP directory says about a person.
import type { Entry } from 'ldapts'
import type { LdapSettings } from './connection.ts'

/** A person whose password the directory accepted. */
export interface Person {
  username: string
  email: string
  fullName: string
  groups: string[]
}

/** Attributes that the functions here read. */
export const attributesOf = (ldap: LdapSettings) => [
  ...[ldap.attr_username, ldap.attr_email, ldap.attr_fullname, ldap.attr_groups].filter(Boolean),
  ...LOCKS,
]

/** Attributes of entries that may not log in: Active Directory, 389 and FreeIPA, OpenLDAP (ppolicy). */
const LOCKS = ['userAccountControl', 'nsAccountLock', 'pwdAccountLockedTime']
/** ADS_UF_ACCOUNTDISABLE */
const AD_DISABLED = 2
/** "permanently" (draft-behera-ldap-password-policy, section 5.3.3); other times end by themselves. */
const LOCKED_FOR_EVER = '000001010000Z'

function isLocked(entry: Entry): boolean {
  const [control, lock, locked] = LOCKS.map((name) => textsOf(entry, name)[0] ?? '')
  return (Number(control) & AD_DISABLED) !== 0 || /^true$/i.test(lock ?? '') || locked === LOCKED_FOR_EVER
}

/** @returns the person, or why there is none */
export function personOf(entry: Entry, ldap: LdapSettings, groups: string[]): Person | { refused: string } {
  if (isLocked(entry)) return { refused: 'disabled in the directory' }
  const names = textsOf(entry, ldap.attr_username)
  if (names.length !== 1) return { refused: `not one value of ${ldap.attr_username}` }
  return {
    username: names[0] ?? '',
    email: textsOf(entry, ldap.attr_email)[0] ?? '',
    fullName: textsOf(entry, ldap.attr_fullname)[0] ?? '',
    groups,
  }
}

/** The values of an attribute as texts. Directories ignore the case of attribute names. */
export function textsOf(entry: Entry, attribute: string): string[] {
  const key = Object.keys(entry).find((name) => name.toLowerCase() === attribute.toLowerCase())
  const value = attribute === '' || key === undefined ? [] : entry[key]
  const values = Array.isArray(value) ? value : [value]
  return values.filter((one) => typeof one === 'string')
}
