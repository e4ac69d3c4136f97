// What follows a committed change of records: the index, the files, the manifests, the news. All of it repeatable.
import { allEnded } from '../kernel/all-ended.ts'
import { announceRecord } from '../records/announce.ts'
import type { Changed } from '../records/change-record.ts'
import type { ReviewParts } from './parts.ts'

/** Publishes every distribution whose offer a change touched. @returns the first failure; null when clients see it all */
export async function publishChanges(parts: ReviewParts, changes: readonly Changed[]): Promise<unknown> {
  const codenames = new Set(
    changes.filter(({ before, row }) => before.served !== row.served).map(({ row }) => row.distribution),
  )
  return allEnded([...codenames].map((codename) => parts.publisher.converge(codename))).then(
    () => null,
    (reason: unknown) => reason ?? new Error('no reason given'),
  )
}

/** Never fails: what it leaves undone, recovery does. */
export async function cleanUp(parts: ReviewParts, changes: readonly Changed[]): Promise<void> {
  const withdrawn = new Set(
    changes.filter(({ before, row }) => before.served && !row.served).map(({ row }) => row.distribution),
  )
  const work = [
    () => parts.manifests.write(changes.map(({ row }) => row.id)),
    ...[...withdrawn].map((codename) => () => parts.publisher.removeUnpublished(codename)),
    ...(changes.some(({ before, row }) => before.status !== row.status) ? [() => parts.pendingDeletions.run()] : []),
  ]
  for (const step of work) await step().catch(parts.onError)
}

export function announce(parts: Pick<ReviewParts, 'bus'>, changes: readonly Changed[]): void {
  for (const { before, row } of changes)
    if (before.status !== row.status || before.served !== row.served) announceRecord(parts.bus, row)
}
