// Asks the LDAP directory who a person is and whether the password is right. Keeps nothing between two questions.
import { readFile } from 'node:fs/promises'
import { connect, isIP, type Socket } from 'node:net'
import { connect as connectSecurely } from 'node:tls'
import {
  Client,
  InvalidCredentialsError,
  InvalidDNSyntaxError,
  NoSuchObjectError,
  SizeLimitExceededError,
  type Entry,
} from 'ldapts'
import { Problem } from '../../domain/problem.ts'
import type { Settings } from '../../domain/settings.ts'
import { createSemaphore } from '../../kernel/semaphore.ts'
import { filterFor, filterOfAccount } from './names.ts'
import { nestedGroups } from './nested-groups.ts'

type LdapSettings = Settings['ldap']

const CONNECT_MS = 5_000
/** Time limit of one answer of the directory. */
const ANSWER_MS = 10_000
/** Connections at the same time, and logins that may wait for one. */
const AT_ONCE = 10
const MOST_WAITING = 100
/** Groups of one person that are read. */
const MOST_GROUPS = 5_000
/** Bytes that one connection reads: 5,000 groups with names of 400 bytes. ldapts joins all pieces of a message again for each. */
const MOST_BYTES = 2 * 1024 * 1024

/** A person whose password the directory accepted. */
export interface Person {
  username: string
  email: string
  fullName: string
  groups: string[]
}

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

  /** Runs `work` with a connection on which the service account is bound. */
  async function connected<T>(ldap: LdapSettings, work: (client: Client) => Promise<T>): Promise<T> {
    const tlsOptions = await tlsOptionsOf(ldap)
    const client = new Client({
      url: urlOf(ldap),
      connectTimeout: CONNECT_MS,
      timeout: answerMs,
      createConnection: bounded(connect),
      createSecureConnection: bounded(connectSecurely),
      ...(ldap.use_ssl ? { tlsOptions } : {}),
    })
    try {
      if (ldap.use_starttls && !ldap.use_ssl) await client.startTLS(tlsOptions)
      if (ldap.bind_dn !== '') await client.bind(ldap.bind_dn, ldap.bind_password)
      return await work(client)
    } finally {
      // The socket is closed also when the directory does not answer any more.
      await client.unbind().catch(() => {})
    }
  }

  async function find(client: Client, ldap: LdapSettings, filter: string): Promise<Entry | { refused: string }> {
    try {
      const { searchEntries } = await client.search(ldap.base_dn, {
        scope: 'sub',
        filter,
        attributes: [...ownAttributes(ldap), ...LOCKS],
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
    const found = await connected(ldap, async (client) => {
      const entry = await find(client, ldap, filterFor(ldap.user_filter, username))
      return 'refused' in entry ? { entry, groups: [] } : { entry, groups: await groupsOf(client, ldap, entry) }
    })
    const { entry, groups } = found
    if ('refused' in entry) return entry as { refused: string }
    const isRight = await connected({ ...ldap, bind_dn: '' }, async (client) => {
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
    return connected(ldap, async (client) => {
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
        return await connected(ldap, async (client) => {
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

const ownAttributes = (ldap: LdapSettings) =>
  [ldap.attr_username, ldap.attr_email, ldap.attr_fullname, ldap.attr_groups].filter(Boolean)

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

function personOf(entry: Entry, ldap: LdapSettings, groups: string[]): Person | { refused: string } {
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

/** A directory may announce a message of 2 GB, or send entries without end. @returns `open` with sockets that end at the limit */
function bounded<Open extends (...to: never[]) => Socket>(open: Open): Open {
  const opened = (...to: never[]) => {
    const socket = open(...to)
    let bytes = 0
    return socket.on('data', (piece: Buffer) => {
      bytes += piece.length
      if (bytes > MOST_BYTES) socket.destroy(new Error(`the directory sent more than ${MOST_BYTES} bytes`))
    })
  }
  return opened as Open
}

function urlOf({ host, port, use_ssl }: LdapSettings): string {
  const name = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host
  return `${use_ssl ? 'ldaps' : 'ldap'}://${name}:${port}`
}

async function tlsOptionsOf({ host, ca_bundle_path, verify_cert, use_ssl, use_starttls }: LdapSettings) {
  if (!use_ssl && !use_starttls) return {}
  const plain = host.replace(/^\[|\]$/g, '')
  return {
    minVersion: 'TLSv1.2' as const,
    rejectUnauthorized: verify_cert,
    host: plain,
    ...(isIP(plain) ? {} : { servername: plain }),
    ...(ca_bundle_path === '' ? {} : { ca: await readFile(ca_bundle_path) }),
  }
}

/** The values of an attribute as texts. Directories ignore the case of attribute names. */
function textsOf(entry: Entry, attribute: string): string[] {
  const key = Object.keys(entry).find((name) => name.toLowerCase() === attribute.toLowerCase())
  const value = attribute === '' || key === undefined ? [] : entry[key]
  const values = Array.isArray(value) ? value : [value]
  return values.filter((one) => typeof one === 'string')
}

/** For the admin who tests: what failed, without the password. */
function reasonOf(error: unknown): string {
  if (error instanceof InvalidCredentialsError) return 'the directory refused ldap.bind_dn and ldap.bind_password'
  if (error instanceof NoSuchObjectError) return 'the directory has no entry ldap.base_dn'
  const text = error instanceof Error ? error.message || error.name : 'unknown error'
  return text.replace(/[^\P{C}]/gu, ' ').slice(0, 300)
}
