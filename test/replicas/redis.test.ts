// The parts that share state through Redis, against a real server and against servers that answer garbage.
import { once } from 'node:events'
import { createServer, type AddressInfo, type Server } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, it, test, vi } from 'vitest'
import { createLog } from '../../src/kernel/log.ts'
import { createRedis, reasonOf, type Redis } from '../../src/store/redis/connection.ts'
import { createEvents } from '../../src/store/redis/events.ts'
import { createLiveLines } from '../../src/store/redis/live-lines.ts'
import { createRequestWindows } from '../../src/store/redis/request-windows.ts'
import { createSharedCache } from '../../src/store/redis/shared-cache.ts'
import { REDIS_PASSWORD, startRedis, type RedisServer } from './redis-server.ts'

let server: RedisServer
beforeAll(async () => void (server = await startRedis()))
afterAll(() => server?.remove())

const open: { close(): void }[] = []
let logged: string[] = []
afterEach(() => {
  for (const one of open.splice(0)) one.close()
  expect(logged.join('\n')).not.toContain(REDIS_PASSWORD)
  logged = []
})
const log = createLog('info', { write: (line) => void logged.push(line) })
const messages = () => logged.map((line) => (JSON.parse(line) as { msg: string }).msg)

let namespaces = 0
/** A connection like that of a replica; connections with one namespace share their state. */
function connection(namespace = `n${namespaces++}`, url = server.url, commandMs = 600_000): Redis {
  const redis = createRedis({ url, namespace, carries: ['rate limits', 'cache'], log, checkMs: 100, commandMs })
  open.push(redis)
  redis.start()
  return redis
}
const until = (condition: () => unknown) => expect.poll(condition, { interval: 20 }).toBeTruthy()
async function connected(namespace?: string, commandMs?: number): Promise<Redis> {
  const redis = connection(namespace, server.url, commandMs)
  await until(redis.isUp)
  return redis
}

describe('a connection', () => {
  it('falls back immediately when the server is killed, comes back by itself, and logs each change once', async () => {
    const redis = await connected()
    await server.kill()
    await until(() => !redis.isUp())
    await expect(redis.run((client) => client.get('x'))).rejects.toThrow('Redis is unreachable')
    await server.start()
    await until(redis.isUp)
    expect(await redis.run((client) => client.get('x'))).toBe(null)
    expect(messages()).toEqual([
      'Redis is reachable',
      'Redis is unreachable; its state is kept locally until it returns',
      'Redis is reachable again',
    ])
  })

  it('counts a server that does not answer as unreachable, and answers the callers that wait', async () => {
    const redis = await connected(undefined, 1_000)
    server.pause()
    try {
      await expect(redis.run((client) => client.get('x'))).rejects.toThrow('Redis is unreachable')
      expect(redis.isUp()).toBe(false)
    } finally {
      server.resume()
    }
    await until(redis.isUp)
  })

  it('is never up with a wrong password, and logs neither password', async () => {
    const redis = connection('n', server.url.replace(encodeURIComponent(REDIS_PASSWORD), 'a-wrong-password'))
    await until(() => logged.length > 0)
    expect(redis.isUp()).toBe(false)
    expect(logged.join('')).toContain('WRONGPASS')
    expect(logged.join('')).not.toContain('a-wrong-password')
  })
})

test.each([
  ['redis://:p%2Bw@h', 'failed: p+w and p%2Bw', 'failed: *** and ***'],
  ['redis://user:secret@h', 'AUTH user secret', 'AUTH *** ***'],
  ['redis://h', 'connect ECONNREFUSED', 'connect ECONNREFUSED'],
  ['redis://h', 'x'.repeat(500), 'x'.repeat(200)],
])('the reason of a failure at %s is shown without credentials', (url, message, shown) => {
  expect(reasonOf(new Error(message), url)).toBe(shown)
})

const GARBAGE: [string, string | Buffer | null][] = [
  ['nothing', null],
  ['HTTP', 'HTTP/1.1 400 Bad Request\r\n\r\n'],
  ['random bytes', Buffer.from(Array.from({ length: 512 }, (_, n) => (n * 7919) % 251))],
  ['OK to everything', '+OK\r\n'],
  ['many replies for one command', '+OK\r\n'.repeat(50)],
  ['null replies', '$-1\r\n'.repeat(50)],
  ['empty lists', '*0\r\n'.repeat(50)],
  ['lists of null', '*-1\r\n'.repeat(50)],
  ['pushes without a channel', '>1\r\n$9\r\nsubscribe\r\n'.repeat(20)],
  ['pushed messages', '>3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nx\r\n'.repeat(20)],
  ['numbers', ':1\r\n'.repeat(50)],
  ['errors', '-ERR no\r\n'.repeat(50)],
  ['a list of four billion', '*4294967295\r\n'],
  ['a string that never ends', `$536870911\r\n${'x'.repeat(10_000)}`],
  ['deeply nested lists', '*1\r\n'.repeat(20_000)],
  ['other types', '%1\r\n+a\r\n_\r\n,nan\r\n#t\r\n(1\r\n=5\r\ntxt:a\r\n~0\r\n|0\r\n!3\r\nerr\r\n'],
]

it.each(GARBAGE)('a server that answers %s counts as unreachable and breaks nothing', async (_, answer) => {
  const sockets = new Set<{ destroy(): void }>()
  let asked = 0
  const garbage: Server = createServer((socket) => {
    sockets.add(socket)
    socket
      .on('error', () => {})
      .on('data', () => {
        asked++
        if (answer !== null) socket.write(answer)
      })
  }).listen(0, '127.0.0.1')
  await once(garbage, 'listening')
  const redis = connection('n', `redis://127.0.0.1:${(garbage.address() as AddressInfo).port}`, 1_000)
  const events = createEvents({ redis, log })
  open.push(events)
  try {
    await until(() => asked > 0 && messages().some((message) => message.startsWith('Redis is unreachable')))
    expect(redis.isUp()).toBe(false)
    expect(events.areUp()).toBe(false)
    expect(await createRequestWindows(redis).take('x', 1, 1000)).toBe(null)
  } finally {
    for (const socket of sockets) socket.destroy()
    garbage.close()
  }
})

describe('request windows', () => {
  it('admit one budget over all replicas, also when they ask at the same time', async () => {
    const windows = [await connected('shared'), await connected('shared')].map(createRequestWindows)
    const answers = await Promise.all(Array.from({ length: 40 }, (_, n) => windows[n % 2]!.take('b', 15, 3_600_000)))
    expect(answers.filter((left) => left === 0)).toHaveLength(15)
    for (const left of answers.filter((left) => left !== 0)) expect(left).toBeGreaterThan(1_800_000)
    expect(await windows[0]!.take('another', 15, 3_600_000)).toBe(0)
  })

  it('admit again when the window has passed', async () => {
    const windows = createRequestWindows(await connected())
    expect(await windows.take('b', 1, 300)).toBe(0)
    await expect.poll(() => windows.take('b', 1, 300)).toBe(0)
  })
})

describe('events', () => {
  it('reach the other replicas and not the sender, and survive a restart of the server', async () => {
    const parts = [await connected('events'), await connected('events'), await connected('elsewhere')].map((redis) => {
      const events = createEvents({ redis, log })
      const heard: string[] = []
      events.on('task', (text) => heard.push(text))
      open.push(events)
      return { events, heard }
    })
    const allUp = () => parts.every(({ events }) => events.areUp())
    await until(allUp)
    parts[0]!.events.send('task', '1')
    await until(() => parts[1]!.heard.includes('1'))
    await server.kill()
    await until(() => !parts.some(({ events }) => events.areUp()))
    parts[0]!.events.send('task', 'lost')
    await server.start()
    await until(allUp)
    parts[0]!.events.send('task', '2')
    await until(() => parts[1]!.heard.includes('2'))
    expect(parts.map(({ heard }) => heard)).toEqual([[], ['1', '2'], []])
  })

  it('that are malformed are ignored', async () => {
    const redis = await connected()
    const events = createEvents({ redis, log })
    open.push(events)
    const heard: string[] = []
    events.on('task', (text) => heard.push(text))
    await until(events.areUp)
    for (const text of ['', '{', '[]', '["a","task"]', '["a","task",1]', '["a","task","7"]'])
      await redis.run((client) => client.publish(redis.key('events'), text))
    await until(() => heard.length > 0)
    expect(heard).toEqual(['7'])
  })
})

describe('the shared cache', () => {
  const cacheOf = (redis: Redis) => createSharedCache({ redis, name: 'totals', ttlSeconds: 30 })
  const five = async () => 5
  const six = async () => 6

  it('answers every replica from what one has made, until any of them drops it', async () => {
    const [one, two] = [await connected('cache'), await connected('cache')].map(cacheOf)
    expect(await one!.of('a', five)).toBe(5)
    expect(await two!.of('a', six)).toBe(5)
    expect(await two!.of('b', six)).toBe(6)
    one!.forget()
    await one!.settled()
    expect(await two!.of('a', six)).toBe(6)
  })

  it('never stores what was made before a change', async () => {
    const [one, two] = [await connected('cache2'), await connected('cache2')].map(cacheOf)
    let finish!: (value: number) => void
    const begun = vi.fn()
    const making = one!.of('a', () => {
      begun()
      return new Promise((resolve) => (finish = resolve))
    })
    await until(() => begun.mock.calls.length > 0)
    two!.forget()
    await two!.settled()
    finish(5)
    expect(await making).toBe(5)
    expect(await two!.of('a', six)).toBe(6)
    expect(await one!.of('a', five)).toBe(6)
  })

  it('drops what other replicas stored while this one could not reach Redis', async () => {
    const other = cacheOf(await connected('cache3'))
    expect(await other.of('a', five)).toBe(5)
    // This replica changes something before its first connection.
    const redis = connection('cache3')
    const cache = cacheOf(redis)
    cache.forget()
    expect(await cache.of('a', six)).toBe(null)
    await until(redis.isUp)
    await expect.poll(() => other.of('a', six)).toBe(6)
    expect(await cache.of('a', five)).toBe(6)
  })

  it('survives values that are not its own', async () => {
    const redis = await connected()
    const cache = cacheOf(redis)
    await cache.of('a', five)
    const key = redis.key('cache', 'totals')
    const [field] = (await redis.run((client) => client.hkeys(key))).filter((name) => name !== 'made')
    await redis.run((client) => client.hset(key, field!, 'garbage'))
    expect(await cache.of('a', six)).toBe(6)
    await redis.run((client) => client.set(key, 'not a hash'))
    expect(await cache.of('a', six)).toBe(null)
  })
})

test('live lines are read in order from any of them, separately for each run', async () => {
  const [one, two] = [await connected('lines'), await connected('lines')].map(createLiveLines)
  const run = { id: 7, attempt: 1 }
  const line = (seq: number) => ({ seq, value: `value ${seq}` })
  expect(await one!.add(run, [9, 10].map(line))).toBe(true)
  expect(await one!.add(run, [11, 100].map(line))).toBe(true)
  expect(await two!.after(run, 9, 2)).toEqual([10, 11].map(line))
  expect(await two!.after(run, 0, 100)).toEqual([9, 10, 11, 100].map(line))
  expect(await two!.after({ id: 7, attempt: 2 }, 0, 100)).toEqual([])
  await one!.add(
    run,
    Array.from({ length: 1500 }, (_, n) => line(200 + n)),
  )
  expect(await two!.after(run, 0, 5000)).toHaveLength(1000)
})
