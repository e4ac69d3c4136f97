// The messages between the service and a reader that do not depend on the job.

/** Bytes in it are Uint8Array; everything else must be serializable by v8.serialize. */
export interface Message {
  kind: string
}
/** A message that is sent. */
export type Outgoing = Message & Readonly<Record<string, unknown>>

// Kinds of the channel itself, besides those of the jobs:
// requests  `more`     a batch was consumed: one more may be sent
//           `stop`     nobody wants the remaining batches
//           `told`     answers a question of the job to the service
// replies   `stopped`  answers `stop`
//           `problem`  the bytes are bad: `detail` says how
//           `error`    the job failed in another way: `message`

/** Batches that may be in transit: at 256 KiB each, the memory of one package. */
export const WINDOW = 4

/** The descriptor of the channel in a reader. */
export const CHANNEL = 3

/** @returns whether the value is a message at all; the caller checks its contents */
export function isMessage(value: unknown): value is Message {
  return typeof value === 'object' && value !== null && typeof (value as { kind?: unknown }).kind === 'string'
}

/** The messages of V8, Node, WebAssembly and libstdc++ when memory runs out. */
export const SAYS_OUT_OF_MEMORY =
  /(out of|insufficient) memory|allocation failed|allocate memory|grow instance memory|invalid (size|array|string)|bad_alloc/i
