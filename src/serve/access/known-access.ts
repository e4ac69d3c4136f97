// The facts about access that a listener goes by: read again every few seconds, and kept while the service is away.
import { createPublicKey, type KeyObject } from 'node:crypto'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { isRepository } from '../../domain/repositories.ts'
import type { Clock } from '../../kernel/clock.ts'
import { ifMissing } from '../../kernel/files.ts'
import type { Log } from '../../kernel/log.ts'
import { createShared } from '../../kernel/shared.ts'
import {
  factsName,
  MARKERS,
  MOST_FACTS_BYTES,
  placeOfMarker,
  readFacts,
  readStamp,
  STAMP_FILE,
  type Facts,
  type Stamp,
} from './facts.ts'

/** Who holds a credential, and what it may read. */
export interface Reader {
  /** for logs: `machine:web-01` */
  name: string
  places: ReadonlySet<string>
  /** ms since 1970; 0: it does not end */
  ends: number
}

export interface KnownAccess {
  /** whether any distribution is private; while it is false everything is served as if there were no sign-in */
  isOn(): boolean
  isPrivate(place: string): boolean
  /** raised when the set of private places changes */
  epoch(): number
  /** why nobody can be admitted now; null when the facts are in force */
  fault(): string | null
  /** @param digests of what the client sent */
  byToken(digests: readonly string[]): Reader | null
  /** @param certificate as `certificateKey` spells it */
  byCertificate(certificate: string): Reader | null
  /** Reads the files now. */
  look(): Promise<void>
  /** Reads the files, and again every second until `stop`. */
  start(): Promise<void>
  stop(): void
}

export interface KnownAccessDeps {
  /** `REPOS_DIR/access` */
  directory: string
  /** the public key of the service */
  keyPath: string
  clock: Clock
  log: Pick<Log, 'warn' | 'info'>
  /** how long facts are used while the service writes no new stamp */
  hours: number
  everyMs?: number
}

const EVERY_MS = 1_000
/** How far the clock of the service may be ahead. */
const AHEAD_MS = 60_000
const HOUR_MS = 3_600_000

interface Held {
  stamp: Stamp
  credentials: Map<string, Reader>
  certificates: Map<string, Reader>
  places: ReadonlySet<string>
}

export function createKnownAccess({ directory, keyPath, clock, log, hours, ...more }: KnownAccessDeps): KnownAccess {
  let held: Held | null = null
  let unreadable: string | null = 'they were not read yet'
  let reported: string | null = null
  let isPrivate: ReadonlySet<string> = new Set()
  let isOn = false
  let epoch = 0
  let timer: NodeJS.Timeout | undefined
  async function load(): Promise<string | null> {
    const content = await readFile(join(directory, STAMP_FILE), 'utf8').catch(ifMissing(null))
    if (content === null) return 'there are none'
    const key = await readKey(keyPath)
    const stamp = key && readStamp(content, key)
    if (!stamp) return 'they are damaged, or not signed by this service'
    if (stamp.at > clock.now().getTime() + AHEAD_MS) return 'they are from the future'
    // A replica that was slow may put an older stamp in place of a newer one, until the next is written.
    if (held && stamp.at < held.stamp.at && held.stamp.at <= clock.now().getTime()) return null
    if (held?.stamp.digest === stamp.digest) {
      held.stamp = stamp
      return null
    }
    const facts = await factsOf(directory, stamp)
    if (!facts) return 'the list that they name is missing or damaged'
    held = { stamp, ...indexed(facts) }
    return null
  }

  async function refresh(): Promise<void> {
    try {
      unreadable = await load()
      const marked = await markedPlaces(directory)
      // A marker counts at once, so that a place is private before the next facts say so. Without facts in force, nothing becomes public.
      const next = new Set([...marked, ...(held?.places ?? []), ...(unreadable === null ? [] : isPrivate)])
      if (next.size !== isPrivate.size || [...next].some((place) => !isPrivate.has(place))) {
        isPrivate = next
        // Listeners serve distributions only.
        isOn = [...next].some((place) => !isRepository(place))
        epoch++
      }
    } catch (error) {
      unreadable = (error as Error).message
    }
    report()
  }

  function fault(): string | null {
    if (unreadable !== null) return unreadable
    const age = clock.now().getTime() - (held?.stamp.at ?? 0)
    return age > hours * HOUR_MS ? `the service has written none for ${hours} hours` : null
  }

  function report(): void {
    const now = isPrivate.size > 0 ? fault() : null
    if (now !== null && now !== reported)
      log.warn({ reason: now, places: isPrivate.size }, 'private distributions are not served: facts about access')
    if (now === null && reported !== null) log.info('private distributions are served again')
    reported = now
  }

  const look = createShared(refresh)

  const current = (reader: Reader | undefined): Reader | null =>
    reader && (reader.ends === 0 || reader.ends > clock.now().getTime()) ? reader : null

  return {
    isOn: () => isOn,
    isPrivate: (place) => isPrivate.has(place),
    epoch: () => epoch,
    fault,
    byToken(digests) {
      for (const digest of digests) {
        const reader = current(held?.credentials.get(digest))
        if (reader) return reader
      }
      return null
    },
    byCertificate: (certificate) => current(held?.certificates.get(certificate)),
    look,
    async start() {
      await look()
      timer = setInterval(() => void look(), more.everyMs ?? EVERY_MS).unref()
    },
    stop: () => clearInterval(timer),
  }
}

async function readKey(path: string): Promise<KeyObject | null> {
  const pem = await readFile(path, 'utf8').catch(ifMissing(null))
  try {
    return pem === null ? null : createPublicKey(pem)
  } catch {
    return null
  }
}

async function factsOf(directory: string, stamp: Stamp): Promise<Facts | null> {
  const path = join(directory, factsName(stamp.digest))
  const found = await stat(path).catch(ifMissing(null))
  if (!found || found.size > MOST_FACTS_BYTES) return null
  const bytes = await readFile(path).catch(ifMissing(null))
  return bytes && readFacts(bytes, stamp)
}

async function markedPlaces(directory: string): Promise<string[]> {
  const names = await readdir(join(directory, MARKERS)).catch(ifMissing([]))
  return names.flatMap((name) => placeOfMarker(name) ?? [])
}

function indexed(facts: Facts): Omit<Held, 'stamp'> {
  const rights = facts.rights.map((places) => new Set(places.flatMap((at) => facts.private[at] ?? [])))
  const readers = facts.credentials.map(([, at, name, ends]): Reader => ({
    name,
    ends,
    places: rights[at] ?? new Set(),
  }))
  const credentials = new Map(facts.credentials.map(([digest], at) => [digest, readers[at] as Reader]))
  const certificates = new Map(
    facts.certificates.flatMap(([certificate, at]) => {
      const reader = readers[at]
      return reader ? [[certificate, reader] as const] : []
    }),
  )
  return { credentials, certificates, places: new Set(facts.private) }
}

/** Nothing is private, and nobody is known. */
export const NO_SIGN_IN: KnownAccess = {
  isOn: () => false,
  isPrivate: () => false,
  epoch: () => 0,
  fault: () => null,
  byToken: () => null,
  byCertificate: () => null,
  look: async () => undefined,
  start: async () => undefined,
  stop: () => undefined,
}
