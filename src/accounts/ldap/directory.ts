// Asks the LDAP directory who a person is and whether the password is right. Keeps nothing between two questions.
import {
  type Client,
  InvalidCredentialsError,
  InvalidDNSyntaxError,
  NoSuchObjectError,
  SizeLimitExceededError,
  type Entry,
} from 'ldapts'
import { Problem } from '../../domain/problem.ts'
import type { Settings } from '../../domain/settings.ts'
import { createSemaphore } from '../../kernel/semaphore.ts'
import { connected, type LdapSettings } from './connection.ts'
import { attributesOf, personOf, textsOf, type Person } from './entries.ts'
import { filterFor, filterOfAccount } from './names.ts'
import { nestedGroups } from './nested-groups.ts'

/** Time limit of one answer of the directory. */
const ANSWER_MS = 10_000
/** Connections at the same time, and logins that may wait for one. */
const AT_ONCE = 10
const MOST_WAITING = 100
/** Groups of one person that are read. */
const MOST_GROUPS = 5_000

export interface DirectoryTest {
  status: 'ok' | 'error'
  message: string
  server_info?: { tls: boolean; vendor: string | null; naming_contexts: string[] }
}

export interface Directory {
  /**
   * @returns the person, or the reason why there is none, for the audit log
   * @throws Problem `ldap_unavailable` when the directory cannot answer, `rate_limited` when too many wait
   */
  check(username: string, password: string): Promise<Person | { refused: string }>
  /**
   * The entry of an account, without its password.
   * @returns the person, or why there is none
   * @throws as `check` does
   */
  look(username: string): Promise<Person | { refused: string }>
  /** Connects, binds and looks for the base, as a login does. Never throws. */
  test(): Promise<DirectoryTest>
}

/**
 * @param deps.onError receives why the directory could not answer; clients get one sentence
 * @param deps.answerMs time for one answer
 */
export function createDirectory(deps: {
  settings: () => Settings
  onError: (error: unknown) => void
  answerMs?: number
}): Directory {
  const { answerMs = ANSWER_MS } = deps
  const limited = createSemaphore(AT_ONCE)
  let present = 0

  async function find(client: Client, ldap: LdapSettings, filter: string): Promise<Entry | { refused: string }> {
    try {
      const { searchEntries } = await client.search(ldap.base_dn, {
        scope: 'sub',
        filter,
        attributes: attributesOf(ldap),
        sizeLimit: 2,
        timeLimit: ANSWER_MS / 1000,
      })
      const [entry, second] = searchEntries
      if (second) return { refused: 'several entries of this name' }
      return entry ?? { refused: 'unknown user' }
    } catch (error) {
      if (error instanceof SizeLimitExceededError) return { refused: 'several entries of this name' }
      throw error
    }
  }

  async function ask(username: string, password: string): Promise<Person | { refused: string }> {
    const { ldap } = deps.settings()
    // RFC 4513, section 5.1.2: a bind without a password succeeds for every name.
    if (password === '') return { refused: 'no password' }
    const found = await connected(ldap, answerMs, async (client) => {
      const entry = await find(client, ldap, filterFor(ldap.user_filter, username))
      return 'refused' in entry ? { entry, groups: [] } : { entry, groups: await groupsOf(client, ldap, entry) }
    })
    const { entry, groups } = found
    if ('refused' in entry) return entry as { refused: string }
    const isRight = await connected({ ...ldap, bind_dn: '' }, answerMs, async (client) => {
      try {
        await client.bind(entry.dn, password)
        return true
      } catch (error) {
        if (error instanceof InvalidCredentialsError) return false
        throw error
      }
    })
    if (!isRight) return { refused: 'wrong password' }
    return personOf(entry, ldap, groups)
  }

  async function seek(username: string): Promise<Person | { refused: string }> {
    const { ldap } = deps.settings()
    return connected(ldap, answerMs, async (client) => {
      let entry = await find(client, ldap, filterOfAccount(ldap, username))
      // A filter with other comparisons than `=` may not accept "any value": try it with the name, as a login does.
      if ('refused' in entry) entry = await find(client, ldap, filterFor(ldap.user_filter, username))
      if ('refused' in entry) return entry as { refused: string }
      return personOf(entry, ldap, await groupsOf(client, ldap, entry))
    })
  }

  /** Runs a question in its turn. */
  async function inTurn<T>(question: () => Promise<T>): Promise<T> {
    if (present >= MOST_WAITING) {
      const extra = { limit: MOST_WAITING, retry_after: 5 }
      throw new Problem('rate_limited', 'too many logins wait for the directory; try again shortly', extra, {
        retryAfterSeconds: 5,
      })
    }
    present++
    try {
      return await limited(question)
    } catch (error) {
      deps.onError(error)
      const sentence = 'the directory does not answer; local accounts can log in'
      throw new Problem('ldap_unavailable', sentence, {}, { cause: error, retryAfterSeconds: 30 })
    } finally {
      present--
    }
  }

  return {
    check: (username, password) => inTurn(() => ask(username, password)),
    look: (username) => inTurn(() => seek(username)),

    async test() {
      const { ldap } = deps.settings()
      if (ldap.host === '') return { status: 'error', message: 'ldap.host is not set' }
      try {
        return await connected(ldap, answerMs, async (client) => {
          const root = (
            await client.search('', {
              scope: 'base',
              filter: '(objectClass=*)',
              attributes: ['namingContexts', 'vendorName', 'vendorVersion'],
            })
          ).searchEntries[0]
          const server_info = {
            tls: ldap.use_ssl || ldap.use_starttls,
            vendor: root ? [...textsOf(root, 'vendorName'), ...textsOf(root, 'vendorVersion')].join(' ') || null : null,
            naming_contexts: root ? textsOf(root, 'namingContexts').slice(0, 20) : [],
          }
          // Tries the filter too: a directory reports a filter that it cannot read.
          const found = await find(client, ldap, filterFor(ldap.user_filter, 'a-name-that-nobody-has'))
          if (!('refused' in found) || found.refused !== 'unknown user')
            return { status: 'error' as const, message: 'ldap.user_filter finds an entry for every name', server_info }
          return {
            status: 'ok' as const,
            message: `connected, and searched ${ldap.base_dn || 'the whole directory'}`,
            server_info,
          }
        })
      } catch (error) {
        return { status: 'error', message: reasonOf(error) }
      }
    },
  }
}

async function groupsOf(client: Client, ldap: LdapSettings, entry: Entry): Promise<string[]> {
  const direct = textsOf(entry, ldap.attr_groups).slice(0, MOST_GROUPS)
  if (!ldap.nested_groups) return direct
  return nestedGroups(direct, async (group) => {
    try {
      const { searchEntries } = await client.search(group, {
        scope: 'base',
        filter: '(objectClass=*)',
        attributes: [ldap.attr_groups],
      })
      return searchEntries[0] ? textsOf(searchEntries[0], ldap.attr_groups) : []
    } catch (error) {
      // A group whose value is not a DN, or that this account may not see, leads to no other groups.
      if (error instanceof NoSuchObjectError || error instanceof InvalidDNSyntaxError) return []
      throw error
    }
  })
}

/** For the admin who tests: what failed, without the password. */
function reasonOf(error: unknown): string {
  if (error instanceof InvalidCredentialsError) return 'the directory refused ldap.bind_dn and ldap.bind_password'
  if (error instanceof NoSuchObjectError) return 'the directory has no entry ldap.base_dn'
  const text = error instanceof Error ? error.message || error.name : 'unknown error'
  return text.replace(/[^\P{C}]/gu, ' ').slice(0, 300)
}
