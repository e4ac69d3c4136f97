// How the files of one repository are reached: over HTTP, or in a directory of this machine.

/** What a later request is conditional on. */
export interface Validator {
  etag: string | null
  lastModified: string | null
}

export interface Ask {
  /** more is refused */
  mostBytes: number
  /** `unchanged` is returned when the file is still the one this describes */
  known?: Validator
  /** continues a transfer; the answer may begin at 0 all the same */
  resume?: { at: number; validator: Validator }
}

export interface Found {
  /** offset of the first byte of `body` */
  startsAt: number
  validator: Validator
  body: AsyncIterable<Uint8Array>
}

export interface Transport {
  /** names the place in sentences: a host, or a directory */
  readonly name: string
  /**
   * @throws Problem, or `Interrupted` for what may succeed when it is tried again
   */
  open(path: string, ask: Ask): Promise<Found | 'missing' | 'unchanged'>
  /** How packages outside the repository are reached (`isElsewhere`); absent where nothing may be read there. */
  readonly elsewhere?: {
    /** the address from which their paths lead */
    readonly base: string
    /** @throws Problem('upstream_error') as `urlElsewhere` */
    at(path: string): Transport
  }
}

/** A failure that may pass: a busy server, a lost connection. `cause` is the Problem to report when it does not. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted'
  readonly retryAfterMs: number | null
  /** how many of the tries it uses up: a server that does not answer costs minutes each time */
  readonly tries: number
  constructor(cause: unknown, retryAfterMs: number | null = null, tries = 1) {
    super('interrupted', { cause })
    this.retryAfterMs = retryAfterMs
    this.tries = tries
  }
}
