// Reads the new lines of access logs and counts the downloads in them. Every process with a database reads the logs that it
// sees, and uses the database row of a log to avoid counting a line twice.
import { stat } from 'node:fs/promises'
import type { Settings } from '../../domain/settings.ts'
import type { Checkpoint } from '../../kernel/checkpoint.ts'
import type { Clock } from '../../kernel/clock.ts'
import { asError } from '../../kernel/errors.ts'
import { ifMissing } from '../../kernel/files.ts'
import type { Log } from '../../kernel/log.ts'
import { createPacer } from '../../kernel/pacer.ts'
import { machinesSeen } from '../../accounts/machines/last-seen.ts'
import { addDownloads } from '../../store/downloads/counting.ts'
import type { Given } from '../../store/downloads/identified.ts'
import { DAY_SECONDS, dayOf } from '../../store/downloads/days.ts'
import { advance, countsAt, knownLog, logChoices, type KnownLog, type LogChoices } from '../../store/downloads/logs.ts'
import { clientTypeOf } from './client-type.ts'
import { nginxLogs, openLog, ourLogs, type LogPlace } from './log-files.ts'
import { clientOf, gaveFile, parseLine } from './log-line.ts'
import { headOf, piecesOf, type OpenLog } from './log-text.ts'
import { createResolver, type Resolver, type ResolverDeps } from './resolve.ts'
import { createTallies, type Tally } from './tally.ts'

export interface DownloadReader {
  /** Reads each log to its end. @param stopping ends it early; the next run continues there */
  catchUp(stopping: () => boolean): Promise<void>
  /** Notes a new choice of logs in the settings: it applies to lines written before the next run too. */
  noteChoice(): Promise<void>
}

export interface DownloadReaderDeps extends ResolverDeps {
  clock: Clock
  log: Pick<Log, 'warn'>
  checkpoint: Checkpoint
  settings(): Pick<Settings, 'downloads' | 'retention'>
  /** directory of our listeners' access logs */
  directory: string
  /** directories that may contain the logs of nginx */
  nginxDirectories: readonly string[]
  /** endings of package files */
  suffixes: readonly string[]
}

/**
 * Limits of one transaction. Making, sending and reading its rows blocks the process: 2,000 tallies take up to 30 ms.
 */
const BATCH = { tallies: 2_000, chars: 16 * 1024 * 1024, lines: 500_000 }
const MACHINE = 'machine:'
/** How far the clock of another machine may be ahead. */
const AHEAD_SECONDS = 3600

export function createDownloadReader(deps: DownloadReaderDeps): DownloadReader {
  const { db, clock, log, settings, checkpoint } = deps
  /** state of each file at the time it had been read to its end */
  let ended = new Map<string, string>()
  let failing = new Map<string, string>()
  const isPackage = new RegExp(`(?:${deps.suffixes.map((one) => one.replace('.', '\\.')).join('|')})(?:\\?|$)`)

  const keptFrom = () => dayOf(clock.now()) - settings().retention.access_log_days

  async function placesNow(): Promise<LogPlace[]> {
    const ours = await ourLogs(deps.directory)
    return [...ours, ...(await nginxLogs(settings().downloads.nginx_logs, deps.nginxDirectories))]
  }

  /** The state of a file for `ended`: while it is equal, nothing was appended or replaced. Null when the file is gone. */
  async function stateOf({ path }: LogPlace): Promise<string | null> {
    const found = await stat(path, { bigint: true }).catch(ifMissing(null))
    return found && `${found.dev} ${found.ino} ${found.size} ${found.mtimeNs}`
  }

  /** @returns whether it was read to its end */
  async function readLog(place: LogPlace, choices: LogChoices, resolver: Resolver, stopping: () => boolean) {
    const opened = await openLog(place)
    if (!opened) return true
    try {
      const head = await headOf(opened)
      if (!head) return true
      const known = await knownLog(db, { ...place, ...head }, clock.now())
      return await readFrom(opened, known, { place, choices, resolver, stopping })
    } finally {
      await opened.file.close()
    }
  }

  interface Reading {
    place: LogPlace
    choices: LogChoices
    resolver: Resolver
    stopping(): boolean
  }

  async function readFrom(opened: OpenLog, from: KnownLog, { place, choices, resolver, stopping }: Reading) {
    const pace = createPacer()
    const firstDay = keptFrom()
    const newest = clock.now().getTime() / 1000 + AHEAD_SECONDS
    let known = from
    const seen = new Map<string, number>()
    let batch = { tallies: createTallies(), lines: 0, unreadable: 0, end: from.position }

    const take = (text: string) => {
      batch.lines++
      const line = parseLine(text)
      if (!line || line.at > newest) {
        batch.unreadable++
        return
      }
      if (line.reader?.startsWith(MACHINE)) seen.set(line.reader.slice(MACHINE.length), line.at)
      if (gaveFile(line) && isPackage.test(line.target) && countsAt(choices, place.kind, line.at)) {
        if (line.at / DAY_SECONDS >= firstDay) batch.tallies.add(line)
      }
    }
    const store = async (): Promise<boolean> => {
      const { end, lines, unreadable, tallies } = batch
      const { given, recent, unknown } = await identify(tallies, resolver)
      const counted = await advance(db, { log: known, end, lines, unreadable, unknown }, async (tx) => {
        await addDownloads(tx, given, recent, firstDay)
        await machinesSeen(tx, seen)
        checkpoint('downloads-counted')
      })
      known = { ...known, position: end }
      batch = { tallies: createTallies(), lines: 0, unreadable: 0, end }
      seen.clear()
      return counted
    }

    for await (const { lines, tooLong, end } of piecesOf(opened, from.position)) {
      for (const line of lines) {
        take(line)
        if (batch.lines % 64 === 0) await pace()
      }
      batch.lines += tooLong
      batch.unreadable += tooLong
      batch.end = end
      const { tallies } = batch
      const isFull =
        tallies.size >= BATCH.tallies || tallies.chars >= BATCH.chars || batch.lines >= BATCH.lines || stopping()
      // Another process reads this log: the next run reads the lines that it leaves.
      if (isFull && !(await store())) return false
      if (stopping()) return false
    }
    return batch.lines === 0 || store()
  }

  function choose(): Promise<LogChoices> {
    const { nginx_logs: named, count } = settings().downloads
    return logChoices(db, named === '' ? 'listeners' : count, clock.now())
  }

  return {
    async noteChoice() {
      await choose()
    },
    async catchUp(stopping) {
      const choices = await choose()
      const resolver = createResolver(deps)
      const now = new Map<string, string>()
      const failures = new Map<string, string>()
      for (const place of await placesNow()) {
        if (stopping()) return
        try {
          const state = await stateOf(place)
          if (state === null) continue
          if (ended.get(place.path) === state || (await readLog(place, choices, resolver, stopping)))
            now.set(place.path, state)
        } catch (error) {
          // One unreadable log does not prevent reading the others.
          const { message } = asError(error)
          failures.set(place.path, message)
          if (failing.get(place.path) !== message)
            log.warn({ err: error, path: place.path }, 'an access log cannot be read')
        }
      }
      ended = now
      failing = failures
    },
  }
}

/** The files of a batch, and the number of answers for unknown files. */
async function identify({ all, recent }: ReturnType<typeof createTallies>, resolver: Resolver) {
  const tallies = [...all]
  const { files, foreign } = await resolver.resolve(new Set(tallies.map(({ target }) => target)))
  const given = new Map<string, Given>()
  let unknown = 0
  for (const tally of tallies) {
    const file = files.get(tally.target)
    if (file) {
      // A file for all architectures is in the directories of all of them.
      const key = `${file.distribution} ${file.sha256} ${tally.day} ${tally.address} ${tally.agent}`
      given.set(key, joined(given.get(key), givenOf(tally, file)))
    } else if (!foreign.has(tally.target)) unknown += tally.whole + Number(tally.beganWithRange)
  }
  return {
    given: [...given.values()],
    unknown,
    recent: recent.flatMap(({ target, at, status, bytes, agent, ...client }) => {
      const address = clientOf(client)
      const file = files.get(target)
      const clientType = clientTypeOf(agent)
      return file ? [{ file, at: new Date(at * 1000), path: target, status, bytes, address, agent, clientType }] : []
    }),
  }
}

function givenOf({ address, agent, day, whole, beganWithRange, redirects, bytes }: Tally, file: Given['file']): Given {
  const clientType = clientTypeOf(agent)
  return { file, address, agent, clientType, day, whole, beganWithRange, bytes: bytes + redirects * file.sizeBytes }
}

function joined(before: Given | undefined, one: Given): Given {
  if (!before) return one
  return {
    ...before,
    whole: before.whole + one.whole,
    beganWithRange: before.beganWithRange || one.beganWithRange,
    bytes: before.bytes + one.bytes,
  }
}
