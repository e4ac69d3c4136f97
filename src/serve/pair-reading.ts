// Which generation a client reads a signed index and its signature from: one state for each client. Pure.

/** What a client asks of a pair; other requests are no part of it. */
export type PairRequest = 'probe' | 'index' | 'signature' | 'key'

/** A generation and when it was last used for this client. */
interface From {
  /** directory of the generation, relative to the repositories' directory */
  generation: string
  atMs: number
}

type Started =
  | { state: 'Idle' }
  /** has the index and wants its signature, as dnf does */
  | ({ state: 'IndexFirst' } & From)
  /** has the index and then its signature */
  | ({ state: 'Paired' } & From)
  /** has the signature; only a request for the key shows that it wants the index of it, as zypper does */
  | ({ state: 'SignatureFirst' } & From)
  | ({ state: 'KeyAsked' } & From)

/** `Probe`: asked for the headers of the index, so a request for the index alone only tests whether it changed. */
export type Reading = Started | { state: 'Probe'; atMs: number; interrupted: Started }

export interface Moment {
  nowMs: number
  /** the generation the link points at */
  live: string
  /** whether a generation still has the file that is asked for */
  has(generation: string): boolean
}

export interface PairStep {
  reading: Reading
  /** the generation to answer from */
  generation: string
}

export const IDLE: Reading = { state: 'Idle' }

/** The longest time between two requests of a pair: some 30 ms on loopback, seconds on a busy machine. */
export const LONGEST_PAUSE_MS = 15_000

/** Answers a request from the generation of the client's first half where that still fits, otherwise from the live one. */
export function step(reading: Reading, request: PairRequest, moment: Moment): PairStep {
  const { nowMs, live } = moment
  const started = reading.state === 'Probe' ? reading.interrupted : reading
  const fromLive = (state: 'IndexFirst' | 'SignatureFirst'): PairStep => ({
    reading: { state, generation: live, atMs: nowMs },
    generation: live,
  })

  switch (request) {
    case 'probe':
      return { reading: { state: 'Probe', atMs: nowMs, interrupted: started }, generation: live }

    case 'index':
      if (reading.state === 'Probe' && nowMs - reading.atMs <= LONGEST_PAUSE_MS)
        return { reading: started, generation: live }
      return started.state === 'KeyAsked' && isUsable(started, moment)
        ? { reading: started, generation: started.generation }
        : fromLive('IndexFirst')

    case 'signature':
      return (started.state === 'IndexFirst' || started.state === 'Paired') && isUsable(started, moment)
        ? { reading: { ...started, state: 'Paired' }, generation: started.generation }
        : fromLive('SignatureFirst')

    case 'key':
      return {
        reading:
          started.state === 'SignatureFirst' || started.state === 'Paired' || started.state === 'KeyAsked'
            ? { state: 'KeyAsked', generation: started.generation, atMs: nowMs }
            : started,
        generation: live,
      }
  }
}

function isUsable({ generation, atMs }: From, { nowMs, has }: Moment): boolean {
  return nowMs - atMs <= LONGEST_PAUSE_MS && has(generation)
}
