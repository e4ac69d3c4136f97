// Login against the directory: accounts are created and kept up to date from its entries.
import type { Origin } from '../../domain/audit.ts'
import type { Settings } from '../../domain/settings.ts'
import type { Clock } from '../../kernel/clock.ts'
import { change, type ChangeDeps } from '../change.ts'
import { adoptAccount } from '../external-account.ts'
import type { LoginAnswer, SecondStep } from '../second-step.ts'
import { usernameKey, type UserRow } from '../user.ts'
import { accountOf } from './account.ts'
import type { Directory } from './directory.ts'

export interface LdapLogin {
  /** Whether the directory is asked about a name: never about that of a local account (docs/api-decisions.md, section 3). */
  isAsked(username: string, row: Pick<UserRow, 'auth_source'> | undefined): boolean
  /**
   * @returns the answer, or why the login was refused, for the audit log
   * @throws Problem `ldap_unavailable`, `rate_limited`
   */
  login(credentials: { username: string; password: string }, origin: Origin): Promise<LoginAnswer | { refused: string }>
}

/** @param deps.isLicensed false in the edition without LDAP */
export function createLdapLogin(
  deps: ChangeDeps & {
    clock: Clock
    settings: () => Settings
    isLicensed: () => boolean
    directory: Directory
    secondStep: SecondStep
  },
): LdapLogin {
  const { settings, directory, secondStep } = deps

  return {
    isAsked(username, row) {
      const { enabled, host } = settings().ldap
      return (
        enabled &&
        host !== '' &&
        deps.isLicensed() &&
        usernameKey(username) !== '' &&
        row?.auth_source !== 'local' &&
        row?.auth_source !== 'oidc'
      )
    },

    async login({ username, password }, origin) {
      const { ldap } = settings()
      const person = await directory.check(username, password)
      if ('refused' in person) return person
      const account = accountOf(person, ldap)
      return change(deps, person.username, origin, async (tx, note) => {
        const adopted = await adoptAccount(tx, account, deps.clock.now(), note)
        return 'refused' in adopted ? adopted : secondStep.admit(adopted, tx, note)
      })
    },
  }
}
