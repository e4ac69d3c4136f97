// What follows a committed change of records: index, files, manifests, notifications. Every step can be repeated.
import { announceRecord } from '../packages/records/announce.ts'
import type { Changed } from '../packages/records/change-record.ts'
import type { ReviewDeps } from './deps.ts'
import { asError } from '../kernel/errors.ts'
import { publishSeen, seenChanges } from '../publish/seen-changes.ts'

export type CleanUpDeps = Pick<ReviewDeps, 'manifests' | 'publisher' | 'pendingDeletions' | 'bus' | 'onError'>

/**
 * Publishes every distribution in which served records changed, and every repository, whose listings show held files too.
 * @returns the first failure; null when clients see all changes
 */
export async function publishChanges(
  { publisher }: Pick<ReviewDeps, 'publisher'>,
  changes: readonly Changed[],
): Promise<Error | null> {
  const rows = changes.map(({ before, row }) => ({ ...row, served: before.served !== row.served }))
  return publishSeen(publisher, seenChanges(rows)).then(() => null, asError)
}

/** Updates manifests and removes files. Never throws: recovery repeats what fails here. */
export async function cleanUp(deps: CleanUpDeps, changes: readonly Changed[]): Promise<void> {
  const unpublished = new Set(
    changes.filter(({ before, row }) => before.served && !row.served).map(({ row }) => row.distribution),
  )
  const work = [
    () => deps.manifests.write(changes.map(({ row }) => row.id)),
    ...[...unpublished].map((codename) => () => deps.publisher.removeUnpublished(codename)),
    ...(changes.some(({ before, row }) => before.status !== row.status) ? [() => deps.pendingDeletions.run()] : []),
  ]
  for (const step of work) await step().catch(deps.onError)
}

export function announce({ bus }: Pick<ReviewDeps, 'bus'>, changes: readonly Changed[]): void {
  for (const { before, row } of changes)
    if (before.status !== row.status || before.served !== row.served) announceRecord(bus, row)
}
