// A record in the queue. A key press renders only the two affected entries again; plain elements, because there are up to 200.
import { memo, useEffect, useRef } from 'react'
import { ListLink } from '../../parts/list-link.tsx'
import { Mark, SeverityMark, Toned } from '../../parts/marks.tsx'
import { distance } from '../../parts/when.tsx'
import type { QueueItem } from './item.ts'

interface EntryProps {
  item: QueueItem
  href: string
  isOpen: boolean
  isDecided: boolean
  isSelected: boolean
  open: (item: QueueItem) => void
  /** null for people who may not decide */
  select: ((item: QueueItem) => void) | null
}

export const Entry = memo(function Entry({ item, href, isOpen, isDecided, isSelected, open, select }: EntryProps) {
  const { name, version, distribution, worst_severity: worst, kev_count: exploited, held_reason: reason } = item
  const ref = useRef<HTMLLIElement>(null)
  useEffect(() => {
    if (isOpen) ref.current?.scrollIntoView({ block: 'nearest' })
  }, [isOpen])
  return (
    <li ref={ref} className="entry" aria-current={isOpen || undefined} data-decided={isDecided || undefined}>
      {select && (
        <input
          type="checkbox"
          checked={isSelected}
          onChange={() => select(item)}
          aria-label={`Select ${name} ${version} ${distribution}`}
        />
      )}
      <div>
        <ListLink href={href} follow={() => open(item)}>
          <b>{name}</b> <span className="mono">{version}</span>
        </ListLink>
        <div className="facts">
          <span>{distribution}</span>
          {worst && <SeverityMark value={worst} />}
          {exploited > 0 && <Mark color="var(--mantine-color-red-9)">{`${exploited} exploited`}</Mark>}
        </div>
        <div className="facts">
          {isDecided ? <Toned tone="good">decided</Toned> : <Due sla={item.sla} />}
          <small>
            {(reason ?? '').replaceAll('_', ' ')}, by {item.imported_by}
          </small>
        </div>
      </div>
    </li>
  )
})

/** The deadline of a decision. */
export function Due({ sla }: { sla: Pick<QueueItem['sla'], 'expires_at' | 'expired' | 'warning'> }) {
  if (!sla.expires_at) return null
  return (
    <Toned tone={sla.expired ? 'bad' : sla.warning ? 'care' : 'good'}>
      {sla.expired ? `overdue since ${distance(sla.expires_at)}` : `due ${distance(sla.expires_at)}`}
    </Toned>
  )
}
