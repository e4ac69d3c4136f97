// The rows of the queue: records, and groups of them whose members may be shown below. Pure.
import type { QueueGroup, QueueItem } from './item.ts'
import { idOf } from './record-id.ts'

export type Row =
  | { kind: 'record'; id: string; item: QueueItem; /** of a group that is unfolded */ isMember: boolean }
  | { kind: 'group'; id: string; group: QueueGroup; isUnfolded: boolean }

const GROUP = 'group:'

/** The value of the URL's `item` for a group. No record has it: four parts name a record. */
export const groupId = (key: string) => `${GROUP}${key}`

/** @returns the key of a group; null when the value names a record, or nothing */
export const parseGroup = (item: string | undefined): string | null =>
  item?.startsWith(GROUP) ? item.slice(GROUP.length) : null

/**
 * @param groups null when the queue is not grouped; a group of one is shown as its record
 * @param members of the unfolded group, as far as they are known
 */
export function rowsOf(
  items: readonly QueueItem[],
  groups: readonly QueueGroup[] | null,
  unfolded: string | null,
  members: readonly QueueItem[],
): Row[] {
  const record = (item: QueueItem, isMember: boolean): Row => ({ kind: 'record', id: idOf(item), item, isMember })
  if (groups === null) return items.map((item) => record(item, false))
  return groups.flatMap((group): Row[] => {
    if (group.packages_total === 1) return [record(group.first, false)]
    const isUnfolded = group.key === unfolded
    const row: Row = { kind: 'group', id: groupId(group.key), group, isUnfolded }
    return isUnfolded ? [row, ...members.map((item) => record(item, true))] : [row]
  })
}

export type GroupedBy = 'source' | 'findings' | 'fix'

/** @returns "texlive-bin 2022.1" for packages of one source, "krb5: fixed by 1.21-3", else "curl, libcurl4 and 12 more" */
export function groupName(
  { first, names, packages_total: total, fix_version: fix }: QueueGroup,
  by: GroupedBy,
): string {
  if (fix !== null) return `${first.source_package}: fixed by ${fix}`
  if (by === 'source') return `${first.source_package} ${first.source_version}`
  const shown = names.slice(0, 2)
  return total > shown.length ? `${shown.join(', ')} and ${total - shown.length} more` : shown.join(' and ')
}
