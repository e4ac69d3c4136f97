// Decides whether a request may read what it names. Asks no database: everything is in `KnownAccess`.
import type { IncomingMessage } from 'node:http'
import { LRUCache } from 'lru-cache'
import { after } from '../../kernel/at-once.ts'
import { limitKey, socketAddress, type ClientAddress } from '../../kernel/client-address.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { PublishedTree } from '../published-tree.ts'
import type { Admission, Located } from '../request-path.ts'
import { digestsOf } from './credentials.ts'
import { certificateKey } from './facts.ts'
import type { KnownAccess, Reader } from './known-access.ts'

export interface Refusal {
  status: 401 | 429 | 503
  headers: readonly string[]
}

export interface AccessCheck {
  /** Who asks; null for nobody, and for a credential that is not known. */
  readerOf(request: IncomingMessage): Reader | null
  /**
   * @param reader who asks
   * @param file what the request names
   * @param codename of the distribution whose set-up it asks for, in place of the file
   * @returns undefined where everything is public
   */
  admit(
    request: IncomingMessage,
    reader: Reader | null,
    file: Located | null,
    codename: string | null,
  ): Admission | undefined | Refusal | Promise<Admission | Refusal>
}

export interface AccessCheckDeps {
  known: KnownAccess
  tree: Pick<PublishedTree, 'placeOf'>
  clock: Clock
  clientAddress: ClientAddress
  /** codenames that are declared: they are public unless the facts say otherwise, also before anything is published */
  declared: ReadonlySet<string>
  /** the header in which trusted proxies name the certificate of the client, in lower case; null where none does */
  certificateHeader: string | null
  trusts(address: string): boolean
}

const CHALLENGE = ['WWW-Authenticate', 'Basic realm="Gatehouse packages", charset="UTF-8"']
const UNAVAILABLE_SECONDS = 30
/** Names of a tree are looked up at most once in this time. */
const NAMES = { max: 1000, ttl: 1000 }
/**
 * Wrong credentials of one address in a minute. Good ones are never counted, so that machines behind one address do not lock
 * each other out; tokens of 256 bits cannot be guessed at any rate, and this bounds what guessing costs.
 */
const MOST_WRONG = 120
const WINDOW_MS = 60_000
const MOST_ADDRESSES = 10_000

export function createAccessCheck(deps: AccessCheckDeps): AccessCheck {
  const { known, tree, declared, clock } = deps
  const names = new LRUCache<string, { place: string | null }>(NAMES)
  const wrong = new LRUCache<string, { since: number; count: number }>({ max: MOST_ADDRESSES })

  function readerOf(request: IncomingMessage): Reader | null {
    const certificate = certificateOf(request)
    const { authorization } = request.headers
    return (
      (authorization === undefined ? null : known.byToken(digestsOf(authorization))) ??
      (certificate === '' ? null : known.byCertificate(certificateKey(certificate)))
    )
  }

  function certificateOf({ headers, socket }: IncomingMessage): string {
    if (deps.certificateHeader === null) return ''
    const value = headers[deps.certificateHeader]
    return typeof value === 'string' && deps.trusts(socketAddress(socket.remoteAddress)) ? value : ''
  }

  /** The place that a name of a tree leads to, through links of former and other names; null when it leads nowhere. */
  function placeOf(file: Located): string | null | Promise<string | null> {
    const { path, mount } = file
    const end = path.indexOf('/', mount.path.length + 1)
    const name = path.slice(mount.path.length + 1, end < 0 ? undefined : end)
    if (known.isPrivate(name) || declared.has(name)) return name
    const key = `${mount.path}/${name}`
    const cached = names.get(key)
    if (cached) return cached.place
    return after(tree.placeOf(key), (place) => {
      names.set(key, { place })
      return place
    })
  }

  function refusal(request: IncomingMessage): Refusal {
    if (known.fault() !== null) return { status: 503, headers: ['Retry-After', String(UNAVAILABLE_SECONDS)] }
    return request.headers.authorization !== undefined && isGuessing(request)
      ? { status: 429, headers: ['Retry-After', String(WINDOW_MS / 1000)] }
      : { status: 401, headers: CHALLENGE }
  }

  function isGuessing({ socket, headers }: IncomingMessage): boolean {
    const key = limitKey(deps.clientAddress(socket.remoteAddress, headers['x-forwarded-for']))
    const now = clock.now().getTime()
    let counted = wrong.get(key)
    if (!counted || now - counted.since >= WINDOW_MS) wrong.set(key, (counted = { since: now, count: 0 }))
    return ++counted.count > MOST_WRONG
  }

  return {
    readerOf,
    admit(request, reader, file, codename) {
      if (!known.isOn()) return undefined
      const epoch = known.epoch()
      // Keys have no place: everybody may read them.
      if (codename === null && (!file || file.mount.format === null)) return { place: null, epoch }
      const named = codename === null ? placeOf(file as Located) : declared.has(codename) ? codename : null
      return after(named, (place): Admission | Refusal => {
        if (place !== null && !known.isPrivate(place)) return { place: null, epoch }
        // An unknown name is answered like a private one, so that nobody learns which names exist.
        const isAdmitted = place !== null && reader?.places.has(place) && known.fault() === null
        return isAdmitted ? { place, epoch } : refusal(request)
      })
    },
  }
}
