// A request about many packages, sent in parts one after another: none takes so long that a proxy gives up, and people see how far
// it is. Pure but for `send`.

/** As many as one request may name. */
export const PART = 200

export interface Parted<Answer> {
  /** of the parts that were answered, in their order */
  answers: Answer[]
  /** why the next part has no answer; undefined when all have one */
  failure?: unknown
}

export interface Steps {
  /** called after each part with the number of items that are answered */
  progress?: (answered: number) => void
  /** no part is sent after it */
  signal?: AbortSignal
}

/** Stops at the first part that fails. @throws the error of the first part: then there is no result to tell */
export async function inParts<Item, Answer>(
  items: readonly Item[],
  send: (part: Item[]) => Promise<Answer>,
  { progress, signal }: Steps = {},
): Promise<Parted<Answer>> {
  const answers: Answer[] = []
  for (let at = 0; at < items.length; at += PART) {
    signal?.throwIfAborted()
    try {
      answers.push(await send(items.slice(at, at + PART)))
    } catch (failure) {
      if (at === 0) throw failure
      return { answers, failure }
    }
    progress?.(Math.min(items.length, at + PART))
  }
  return { answers }
}
