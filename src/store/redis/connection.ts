// One connection to Redis: made in the background and checked every two seconds. Nothing waits for it while it is down.
import { randomUUID } from 'node:crypto'
import type { Log } from '../../kernel/log.ts'
import { nextTurn } from '../../kernel/next-turn.ts'
import { createClient, dropConnection, isErrorReply, type Client } from './guarded-client.ts'

/** How long a command may take, in milliseconds. A server that needs longer counts as unreachable. */
const COMMAND_MS = 1_000
/** How often the connection is checked, in milliseconds. */
const CHECK_MS = 2_000
const LONGEST_REASON = 200
/** Tests the commands that this room uses: scripts and writes. */
const CHECK = `redis.call('SET', KEYS[1], ARGV[1], 'PX', 10000) return redis.call('GET', KEYS[1])`

export interface Redis {
  /** Whether the last check succeeded and no command has failed to arrive since. */
  isUp(): boolean
  /** Runs commands. Rejects immediately while Redis is down, and within a second in every case. */
  run<T>(commands: (client: Client) => Promise<T>): Promise<T>
  /** Calls the listener after each successful check. */
  onCheck(listener: () => void): void
  /** A second connection to the same server, for subscriptions. */
  subscriber(): Client
  /** The full name of a key, with the prefix of this repository. */
  key(...parts: (string | number)[]): string
  /** Begins to connect. Never throws and does not wait. */
  start(): void
  close(): void
}

/**
 * @param deps.namespace separates repositories that share a Redis
 * @param deps.carries the functions that become local while Redis is down, for the log
 * @param deps.checkMs for tests, like `commandMs`
 */
export function createRedis(deps: {
  url: string
  namespace: string
  carries: readonly string[]
  log: Log
  checkMs?: number
  commandMs?: number
}): Redis {
  const { url, log, commandMs = COMMAND_MS } = deps
  const client = createClient(url)
  const checked: (() => void)[] = []
  const key = (...parts: (string | number)[]) => ['gatehouse', deps.namespace, ...parts].join(':')
  const checkId = randomUUID()
  let up: boolean | null = null
  let closed = false
  let timer: NodeJS.Timeout | null = null
  let failure: unknown = null
  const quiet = (error: unknown) => void (failure = error)

  function change(now: boolean): void {
    if (closed || up === now) return
    const first = up === null
    up = now
    const carries = deps.carries.join(', ')
    if (now) log.info({ carries }, first ? 'Redis is reachable' : 'Redis is reachable again')
    else
      log.warn(
        { carries, reason: reasonOf(failure, url) },
        'Redis is unreachable; its state is kept locally until it returns',
      )
  }

  /** Rejects late replies, but first reads replies that have already arrived: a busy process does not mean a slow server. */
  async function inTime<T>(work: Promise<T>): Promise<T> {
    let timeout: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      timeout = setTimeout(() => {
        void nextTurn().then(() => reject(new Error(`no reply within ${commandMs} ms`)))
      }, commandMs)
    })
    work.catch(() => {})
    try {
      return await Promise.race([work, late])
    } finally {
      clearTimeout(timeout)
    }
  }

  function distrust(error: unknown): void {
    failure = error
    change(false)
    // After a late or wrong reply, later replies cannot be matched to their commands.
    if (client.status === 'ready' && !isErrorReply(error)) dropConnection(client)
  }

  /** Writes a value and reads it back: fails on a server that is read-only, full, loading or not a Redis. */
  async function check(): Promise<void> {
    if (closed || client.status !== 'ready') {
      // Nothing to report before the first attempt has ended.
      if (failure !== null) change(false)
      return
    }
    const value = randomUUID()
    try {
      const answer: unknown = await inTime(client.eval(CHECK, 1, key('check', checkId), value))
      if (answer !== value) throw new Error('the server does not answer like Redis')
    } catch (error) {
      distrust(error)
      return
    }
    change(true)
    for (const listener of checked) listener()
  }

  client.on('error', (error: Error) => {
    quiet(error)
    // A reply without a waiting command.
    if (error.message.startsWith('Command queue state error')) distrust(error)
  })
  client.on('ready', () => void check())
  client.on('close', () => {
    failure ??= new Error('the connection was closed')
    change(false)
  })

  return {
    isUp: () => up === true,
    key,
    async run(commands) {
      if (up !== true) throw new Error('Redis is unreachable')
      try {
        return await inTime(commands(client))
      } catch (error) {
        distrust(error)
        // The error of ioredis contains the arguments of the command, for example a password.
        throw new Error(`Redis is unreachable: ${reasonOf(error, url)}`)
      }
    },
    onCheck: (listener) => void checked.push(listener),
    subscriber: () => createClient(url, { autoResubscribe: false }),
    start() {
      client.connect().catch(quiet)
      timer = setInterval(() => void check(), deps.checkMs ?? CHECK_MS).unref()
    },
    close() {
      closed = true
      up = false
      if (timer) clearInterval(timer)
      client.disconnect()
    },
  }
}

/** The message of an error, without the user and the password of the address. */
export function reasonOf(error: unknown, url: string): string {
  const { username, password } = new URL(url)
  const text = error instanceof Error ? error.message || error.name : String(error)
  const secrets = [username, password].flatMap((part) => [part, decoded(part)]).filter((part) => part.length > 0)
  return [...secrets, url].reduce((rest, secret) => rest.replaceAll(secret, '***'), text).slice(0, LONGEST_REASON)
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
