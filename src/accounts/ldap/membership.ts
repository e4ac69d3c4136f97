// Compares accounts from the directory with it: an account that is gone is suspended; lost groups remove the role.
import type { Settings } from '../../domain/settings.ts'
import { isProblem, Problem } from '../../domain/problem.ts'
import type { Origin } from '../../domain/audit.ts'
import type { Clock } from '../../kernel/clock.ts'
import { change, type ChangeDeps } from '../change.ts'
import { adoptAccount } from '../external-account.ts'
import type { UserRow } from '../user.ts'
import { accountOf } from './account.ts'
import type { Directory } from './directory.ts'

export interface Membership {
  /**
   * Asks about one account, at the refresh of its session. In an outage of the directory the grace time applies.
   * @throws Problem `unauthorized` when the directory does not have it
   */
  confirm(userId: number): Promise<void>
  /** Asks about every account, the longest unchecked one first. @throws Problem `ldap_unavailable` */
  compareAll(): Promise<{ checked: number; gone: number }>
}

const BY = 'ldap_sync'
const NO_REQUEST: Origin = { ip: null, requestId: null }

export function createMembership(
  deps: ChangeDeps & {
    clock: Clock
    settings: () => Settings
    isLicensed: () => boolean
    directory: Pick<Directory, 'look'>
  },
): Membership {
  const { db, clock, settings } = deps
  const isAsked = () => settings().ldap.enabled && settings().ldap.host !== '' && deps.isLicensed()

  /** @returns whether the directory has the account */
  async function compare(user: UserRow): Promise<boolean> {
    const { ldap } = settings()
    const person = await deps.directory.look(user.username)
    const now = clock.now()
    return change(deps, BY, NO_REQUEST, async (tx, note) => {
      if ('refused' in person) {
        const gone = await tx
          .updateTable('users')
          .set({ directory_gone_at: now })
          .where('id', '=', user.id)
          .where('directory_gone_at', 'is', null)
          .returning('id')
          .executeTakeFirst()
        if (gone)
          await note('USER_SUSPEND', `${user.username} is suspended: ${person.refused}`, { username: user.username })
        return false
      }
      // The entry belongs to this account, even if the case of its name has changed.
      const account = { ...accountOf({ ...person, username: user.username }, ldap), mayCreate: false }
      const adopted = await adoptAccount(tx, account, now, note, { isLogin: false })
      if ('refused' in adopted)
        // The last admin keeps the role, and a disabled account stays disabled; the directory still has both.
        await tx
          .updateTable('users')
          .set({ directory_checked_at: now, directory_gone_at: null })
          .where('id', '=', user.id)
          .execute()
      return true
    })
  }

  return {
    async confirm(userId) {
      if (!isAsked()) return
      const user = await db.selectFrom('users').selectAll().where('id', '=', userId).executeTakeFirst()
      if (user?.auth_source !== 'ldap') return
      const isThere = await compare(user).catch((error: unknown) => {
        if (isProblem(error, 'ldap_unavailable') || isProblem(error, 'rate_limited')) return true
        throw error
      })
      if (!isThere) throw new Problem('unauthorized', 'the directory does not have this account any more')
    },

    async compareAll() {
      const result = { checked: 0, gone: 0 }
      if (!isAsked()) return result
      const users = await db
        .selectFrom('users')
        .selectAll()
        .where('auth_source', '=', 'ldap')
        .where('active', '=', true)
        .orderBy('directory_checked_at', (order) => order.asc().nullsFirst())
        .execute()
      for (const user of users) {
        result.checked++
        if (!(await compare(user))) result.gone++
      }
      return result
    },
  }
}
