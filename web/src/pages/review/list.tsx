// The left pane: what is chosen, the rows of the queue, and its pages.
import { Button, Group, NativeSelect, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useCallback, useEffect, useRef } from 'react'
import { problemOf } from '../../api/problem.ts'
import { useFilter } from '../../parts/filters.tsx'
import { Pager } from '../../parts/pager.tsx'
import { amount } from '../../parts/words.ts'
import { Entry, GroupEntry } from './entry.tsx'
import type { QueueGroup, QueueItem } from './item.ts'
import { GROUPS, ORDERS, sharedBy, sharedWords } from './order.ts'
import { idOf } from './record-id.ts'
import { groupId } from './rows.ts'
import { MOST_SELECTED, type Selection } from './selection.ts'
import type { QueueState } from './use-queue.ts'

interface ListProps {
  queue: QueueState
  mayDecide: boolean
  selection: Selection
  select: (item: QueueItem, range: boolean) => void
  selectAll: () => void
  selectMatching: (items: readonly QueueItem[]) => void
  selectNone: () => void
  decide: (decision: 'approve' | 'reject') => void
  open: (id: string) => void
}

export function List({ queue, mayDecide, selection, select, decide, open, ...selecting }: ListProps) {
  const { list, rows, page, size, group, sort, decided, unfolded, setUnfolded } = queue
  const pane = useRef<HTMLDivElement>(null)
  const listed = JSON.stringify([queue.filters, page, size, group, sort])
  useEffect(() => {
    // With braces, because newer browsers return a promise here, and an effect must return nothing.
    pane.current?.scrollTo({ top: 0 })
  }, [listed])
  const records = rows.flatMap((row) => (row.kind === 'record' ? [row.item] : []))
  const shared = useShared([
    ...records,
    ...rows.flatMap((row) => (row.kind === 'group' ? [{ ...row.group, ...at(row.group) }] : [])),
  ])
  const openItem = useCallback((item: QueueItem) => open(idOf(item)), [open])
  const openGroup = useCallback(({ key }: QueueGroup) => open(groupId(key)), [open])
  const unfold = useCallback(({ key }: QueueGroup) => setUnfolded((now) => (now === key ? null : key)), [setUnfolded])
  const words = sharedWords(shared)
  return (
    <section className="list" aria-label="Queue">
      <div className="bar">
        {mayDecide && <Chosen {...{ queue, records, selection, decide }} {...selecting} />}
        <Order sort={sort} group={group} />
      </div>
      <div className="scroll" ref={pane}>
        {words && (
          <Text size="xs" c="dimmed" px={8} py={2}>
            {words}
          </Text>
        )}
        <ul aria-label="Review queue" className="queue">
          {rows.map((row) =>
            row.kind === 'record' ? (
              <Entry
                key={row.id}
                item={row.item}
                href={queue.hrefOf(row.id)}
                isOpen={row.id === queue.open?.id}
                isDecided={decided.has(row.id)}
                isSelected={selection.ids.has(row.id)}
                isMember={row.isMember}
                shared={shared}
                open={openItem}
                select={mayDecide ? select : null}
              />
            ) : (
              <GroupEntry
                key={row.id}
                group={row.group}
                by={group ?? 'source'}
                href={queue.hrefOf(row.id)}
                isOpen={row.id === queue.open?.id}
                isUnfolded={row.group.key === unfolded}
                isDecided={decided.has(row.id)}
                shared={shared}
                open={openGroup}
                unfold={unfold}
              />
            ),
          )}
        </ul>
        <Pager
          page={page}
          pages={list.data?.pages ?? 1}
          total={list.data?.total ?? 0}
          what={group ? 'groups' : 'in the queue'}
          size={size}
        />
      </div>
    </section>
  )
}

const at = ({ first }: QueueGroup) => ({ distribution: first.distribution })

/** The same object while its words are the same, so that rows are not rendered again. */
function useShared(items: Parameters<typeof sharedBy>[0]) {
  const now = sharedBy(items, Date.now())
  const kept = useRef(now)
  if (kept.current.distribution !== now.distribution || kept.current.due !== now.due) kept.current = now
  return kept.current
}

interface ChosenProps extends Pick<
  ListProps,
  'queue' | 'selection' | 'selectAll' | 'selectMatching' | 'selectNone' | 'decide'
> {
  records: readonly QueueItem[]
}

/** How many are selected, all of the page or of the queue, and the decisions about them. It stays in view. */
function Chosen({ queue, records, selection: { ids }, selectAll, selectMatching, selectNone, decide }: ChosenProps) {
  const here = records.filter((one) => ids.has(idOf(one))).length
  const isAll = records.length > 0 && here === records.length
  const tooMany = ids.size > MOST_SELECTED
  return (
    <Group gap="xs" role="status">
      <input
        type="checkbox"
        aria-label={`Select all ${records.length} packages on this page`}
        checked={isAll}
        ref={(box) => {
          if (box) box.indeterminate = here > 0 && !isAll
        }}
        disabled={records.length === 0}
        onChange={selectAll}
      />
      <Text size="sm" style={{ whiteSpace: 'nowrap' }}>
        {ids.size > 0 ? `${amount(ids.size)} selected` : `All ${records.length} here`}
      </Text>
      {ids.size > 0 && (
        <>
          <Button size="compact-sm" disabled={tooMany} onClick={() => decide('approve')}>
            Approve
          </Button>
          <Button size="compact-sm" variant="default" disabled={tooMany} onClick={() => decide('reject')}>
            Reject
          </Button>
          <Button size="compact-sm" variant="subtle" onClick={selectNone}>
            None
          </Button>
          {tooMany && <Text size="xs">{`at most ${amount(MOST_SELECTED)} at once`}</Text>}
          {isAll && !queue.group && <AllMatching {...{ queue, selectMatching }} selected={ids.size} />}
        </>
      )}
    </Group>
  )
}

/** Offers to select what other pages have too. */
function AllMatching({
  queue,
  selectMatching,
  selected,
}: Pick<ChosenProps, 'queue' | 'selectMatching'> & { selected: number }) {
  const all = useMutation({ mutationFn: queue.readMatching, onSuccess: selectMatching })
  const total = queue.list.data?.total ?? 0
  if (all.isError) return <Text size="xs">{problemOf(all.error).detail}</Text>
  if (all.isSuccess || total <= selected) return null
  return (
    <Button size="compact-sm" variant="subtle" loading={all.isPending} onClick={() => all.mutate()}>
      {total > MOST_SELECTED
        ? `Select the first ${amount(MOST_SELECTED)} of ${amount(total)}`
        : `Select all ${amount(total)}`}
    </Button>
  )
}

function Order({ sort, group }: Pick<QueueState, 'sort' | 'group'>) {
  const filter = useFilter()
  return (
    <Group gap="xs" ml="auto" wrap="nowrap">
      <NativeSelect
        aria-label="Order"
        size="xs"
        value={sort}
        data={ORDERS.map(({ value, label }) => ({ value, label: `by ${label}` }))}
        onChange={({ currentTarget: { value } }) =>
          filter({ sort: value === 'risk' ? undefined : value, item: undefined })
        }
      />
      <NativeSelect
        aria-label="Groups"
        size="xs"
        value={group ?? ''}
        data={[...GROUPS]}
        onChange={({ currentTarget: { value } }) => filter({ group: value || undefined, item: undefined })}
      />
    </Group>
  )
}
