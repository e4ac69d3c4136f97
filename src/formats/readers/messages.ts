// What the service and a reader send each other, whatever the job is.

/** Bytes in it are Uint8Array; everything else is what v8.serialize takes. */
export interface Message {
  kind: string
}
/** One that is sent. */
export type Outgoing = Message & Readonly<Record<string, unknown>>

// Kinds that the two sides of the channel know themselves, beside those of the jobs:
// requests  `more`     a batch was consumed: one more may be sent
//           `stop`     nobody wants the remaining batches
//           `told`     answers what the job asked the service for
// replies   `stopped`  answers `stop`
//           `problem`  the bytes are bad: `detail` says how
//           `error`    the job failed in another way: `message`

/** Batches that may be under way: with 256 KiB each, what one package holds in memory. */
export const WINDOW = 4

/** The descriptor of the channel in a reader. */
export const CHANNEL = 3

/** @returns whether a reader sent a message at all; what it carries is for the caller to check */
export function isMessage(value: unknown): value is Message {
  return typeof value === 'object' && value !== null && typeof (value as { kind?: unknown }).kind === 'string'
}

/** What V8, Node, WebAssembly and libstdc++ say when they get no more. */
export const SAYS_OUT_OF_MEMORY =
  /(out of|insufficient) memory|allocation failed|allocate memory|grow instance memory|invalid (size|array|string)|bad_alloc/i
