// How the files of one repository are reached: over HTTP, or in a directory of this machine.

/** The condition of a later request. */
export interface Validator {
  etag: string | null
  lastModified: string | null
}

export interface Ask {
  /** a larger file is refused */
  mostBytes: number
  /** if the file still matches this, the result is `unchanged` */
  known?: Validator
  /** continues a transfer; the answer may still begin at 0 */
  resume?: { at: number; validator: Validator }
}

export interface OpenedFile {
  /** offset of the first byte of `body` */
  startsAt: number
  validator: Validator
  body: AsyncIterable<Uint8Array>
}

export interface Transport {
  /** name of the place in sentences: a host, or a directory */
  readonly name: string
  /**
   * @throws Problem, or `Interrupted` for a failure that another try may not have
   */
  open(path: string, ask: Ask): Promise<OpenedFile | 'missing' | 'unchanged'>
  /** How packages outside the repository are reached (`isElsewhere`); absent where nothing may be read there. */
  readonly elsewhere?: {
    /** base address of their paths */
    readonly base: string
    /** @throws Problem('upstream_error') as `urlElsewhere` */
    at(path: string): Transport
  }
}

/** A temporary failure: a busy server, a lost connection. `cause` is the Problem to report when the tries are used up. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted'
  readonly retryAfterMs: number | null
  /** number of tries that it uses up: a server that does not answer costs minutes each time */
  readonly tries: number
  constructor(cause: unknown, retryAfterMs: number | null = null, tries = 1) {
    super('interrupted', { cause })
    this.retryAfterMs = retryAfterMs
    this.tries = tries
  }
}
