// A row of the queue, on one line. A key press renders only the two affected rows again; plain elements, because there are up to 200.
import { memo, useEffect, useRef, type MouseEvent, type ReactNode } from 'react'
import { ListLink } from '../../parts/list-link.tsx'
import { Exploited, SeverityMark, Toned } from '../../parts/marks.tsx'
import { distance } from '../../parts/when.tsx'
import { chance } from '../../parts/words.ts'
import type { QueueGroup, QueueItem } from './item.ts'
import { dueWord, type Shared } from './order.ts'
import { groupName, type GroupedBy } from './rows.ts'

interface EntryProps {
  item: QueueItem
  href: string
  isOpen: boolean
  isDecided: boolean
  isSelected: boolean
  isMember: boolean
  shared: Shared
  open: (item: QueueItem) => void
  /** null for people who may not decide; `range`: from the last selected one to this */
  select: ((item: QueueItem, range: boolean) => void) | null
}

export const Entry = memo(function Entry({
  item,
  href,
  isOpen,
  isDecided,
  isMember,
  shared,
  open,
  ...rest
}: EntryProps) {
  const { name, version, distribution, held_reason: reason } = item
  const { select, isSelected } = rest
  const wasShift = useRef(false)
  return (
    <Line isOpen={isOpen} isDecided={isDecided} isMember={isMember}>
      {select ? (
        <input
          type="checkbox"
          checked={isSelected}
          // The event of a change does not say whether Shift was held.
          onClick={(event: MouseEvent) => (wasShift.current = event.shiftKey)}
          onChange={() => {
            select(item, wasShift.current)
            wasShift.current = false
          }}
          aria-label={`Select ${name} ${version} ${distribution}`}
        />
      ) : (
        <span />
      )}
      <span className="named" title={`${name} ${version}, ${distribution}, ${(reason ?? '').replaceAll('_', ' ')}`}>
        <ListLink href={href} follow={() => open(item)}>
          <b>{name}</b> <span className="mono">{version}</span>
        </ListLink>
        {shared.distribution === null && <small> {distribution}</small>}
        <FixHere item={item} />
      </span>
      <Risk worst={item.worst_severity} exploited={item.kev_count > 0} epss={item.epss_max} />
      <span className="due">
        {isDecided ? <Toned tone="good">decided</Toned> : <DueMark item={item} shared={shared} />}
      </span>
    </Line>
  )
})

interface GroupEntryProps {
  group: QueueGroup
  by: GroupedBy
  href: string
  isOpen: boolean
  isUnfolded: boolean
  isDecided: boolean
  shared: Shared
  open: (group: QueueGroup) => void
  unfold: (group: QueueGroup) => void
}

export const GroupEntry = memo(function GroupEntry({
  group,
  by,
  href,
  isOpen,
  isUnfolded,
  isDecided,
  ...rest
}: GroupEntryProps) {
  const name = groupName(group, by)
  const { shared, open, unfold } = rest
  return (
    <Line isOpen={isOpen} isDecided={isDecided} isMember={false}>
      <button
        type="button"
        className="fold"
        aria-expanded={isUnfolded}
        aria-label={`The packages of ${name}`}
        onClick={() => unfold(group)}
      >
        {isUnfolded ? '▾' : '▸'}
      </button>
      <span className="named">
        <ListLink href={href} follow={() => open(group)}>
          <b>{name}</b> <span>{`${group.packages_total} packages`}</span>
        </ListLink>
        {shared.distribution === null && <small> {group.first.distribution}</small>}
      </span>
      <Risk worst={group.worst_severity} exploited={group.exploited_total > 0} epss={group.epss_max} />
      <span className="due">
        {isDecided ? <Toned tone="good">decided</Toned> : <DueMark item={group} shared={shared} />}
      </span>
    </Line>
  )
})

interface LineProps {
  isOpen: boolean
  isDecided: boolean
  isMember: boolean
  children: ReactNode
}

function Line({ isOpen, isDecided, isMember, children }: LineProps) {
  const ref = useRef<HTMLLIElement>(null)
  useEffect(() => {
    if (isOpen) ref.current?.scrollIntoView({ block: 'nearest' })
  }, [isOpen])
  return (
    <li
      ref={ref}
      className="entry"
      aria-current={isOpen || undefined}
      data-decided={isDecided || undefined}
      data-member={isMember || undefined}
    >
      {children}
    </li>
  )
}

/** Severity, known exploited, EPSS: each in a column of its own, empty where there is nothing to say. */
function Risk({ worst, exploited, epss }: { worst: string | null; exploited: boolean; epss: number | null }) {
  return (
    <>
      <span>{worst && <SeverityMark value={worst} />}</span>
      <span>{exploited && <Exploited>exploited</Exploited>}</span>
      <span className="epss">{epss === null ? '' : <span title="EPSS">{chance(epss)}</span>}</span>
    </>
  )
}

/** That the fix is here already: then this version may not be needed. */
function FixHere({ item: { fixed_here: here, fixed_waiting: waiting } }: { item: QueueItem }) {
  if (here) return <small title={`${here} is published here`}> fix is here</small>
  return waiting ? <small title={`${waiting} is under review here`}> fix waits</small> : null
}

function DueMark({ item: { sla }, shared }: { item: Pick<QueueItem, 'sla'>; shared: Shared }) {
  const word = dueWord(sla, Date.now())
  if (word === '' || shared.due !== null) return null
  return sla.expired || sla.warning ? (
    <Toned tone={sla.expired ? 'bad' : 'care'}>{word}</Toned>
  ) : (
    <span title="due">{word}</span>
  )
}

/** The deadline of a decision. */
export function Due({ sla }: { sla: Pick<QueueItem['sla'], 'expires_at' | 'expired' | 'warning'> }) {
  if (!sla.expires_at) return null
  return (
    <Toned tone={sla.expired ? 'bad' : sla.warning ? 'care' : 'good'}>
      {sla.expired ? `overdue since ${distance(sla.expires_at)}` : `due ${distance(sla.expires_at)}`}
    </Toned>
  )
}
