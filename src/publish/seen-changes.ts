// What of a change clients see, and its publication.
import { isRepository } from '../domain/repositories.ts'
import { allEnded } from '../kernel/all-ended.ts'
import { append } from '../kernel/append.ts'
import type { Publisher } from './publisher.ts'

/** Names by distribution or repository. */
export type Seen = Map<string, string[]>

/** Clients of a distribution see records that are served; the listings of repositories show held files too. */
export function seenChanges(rows: readonly { distribution: string; name: string; served: boolean }[]): Seen {
  const seen: Seen = new Map()
  for (const { distribution, name, served } of rows)
    if (served || isRepository(distribution)) append(seen, distribution, name)
  return seen
}

/** Waits for all of them to end. @throws the first error of `converge` */
export async function publishSeen(publisher: Pick<Publisher, 'converge'>, seen: Seen): Promise<void> {
  await allEnded([...seen].map(([place, names]) => publisher.converge(place, names)))
}
