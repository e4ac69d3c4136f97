// Messages between replicas through Redis pub/sub. A lost message only costs latency: the database has the state.
import { randomUUID } from 'node:crypto'
import type { Log } from '../../kernel/log.ts'
import type { Redis } from './connection.ts'

/** `task`: a task changed (its id). `queue`: a task was queued or cancelled. `packages`: packages changed. */
export type Topic = 'task' | 'queue' | 'packages'

export interface Events {
  /** Sends to all other replicas. Never throws and does not wait. */
  send(topic: Topic, text?: string): void
  /** Listens to messages of other replicas. */
  on(topic: Topic, listener: (text: string) => void): void
}

export interface SharedEvents extends Events {
  /** Whether messages arrive at the moment. */
  areUp(): boolean
  close(): void
}

/** For a process without Redis: nobody else listens. */
export const LOCAL_EVENTS: Events = { send: () => {}, on: () => {} }

/** After this many checks without one of our own messages, the subscription is made again. */
const MOST_UNHEARD = 3

export function createEvents({ redis, log }: { redis: Redis; log: Log }): SharedEvents {
  const sender = randomUUID()
  const channel = redis.key('events')
  const subscriber = redis.subscriber()
  const listeners = new Map<string, ((text: string) => void)[]>()
  // No message arrives before the first subscription.
  let unheard = MOST_UNHEARD
  let warned = false
  let started = false

  const publish = (topic: string, text = '') => {
    if (!redis.isUp()) return
    redis.run((client) => client.publish(channel, JSON.stringify([sender, topic, text]))).catch(() => {})
  }

  // At each check this process sends a message to itself: a subscription can be dead while commands work.
  redis.onCheck(() => {
    if (!started) {
      started = true
      subscriber.connect().catch(() => {})
    }
    if (++unheard % MOST_UNHEARD === 0) {
      if (!warned) log.warn('messages of other replicas do not arrive through Redis; subscribing again')
      warned = true
      if (subscriber.status === 'ready') subscriber.disconnect(true)
    }
    publish('echo')
  })

  function heard(): void {
    unheard = 0
    if (warned) log.info('messages of other replicas arrive through Redis again')
    warned = false
  }

  subscriber.on('error', () => {})
  subscriber.on('close', () => void (unheard = Math.max(unheard, MOST_UNHEARD)))
  subscriber.on('ready', () => {
    subscriber.subscribe(channel).then(
      () => publish('echo'),
      () => {},
    )
  })
  subscriber.on('message', (_: string, text: string) => {
    const message = parse(text)
    if (!message) return
    const [from, topic, content] = message
    if (from === sender) {
      if (topic === 'echo') heard()
      return
    }
    for (const listener of listeners.get(topic) ?? []) listener(content)
  })

  return {
    send: publish,
    on(topic, listener) {
      listeners.set(topic, [...(listeners.get(topic) ?? []), listener])
    },
    areUp: () => redis.isUp() && unheard < MOST_UNHEARD,
    close: () => subscriber.disconnect(),
  }
}

function parse(text: string): [string, string, string] | null {
  try {
    const value: unknown = JSON.parse(text)
    const valid = Array.isArray(value) && value.length === 3 && value.every((part) => typeof part === 'string')
    return valid ? (value as [string, string, string]) : null
  } catch {
    return null
  }
}
