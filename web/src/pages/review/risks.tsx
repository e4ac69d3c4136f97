// The risk of each of several records, beside what a decision would do to each.
import { Button } from '@mantine/core'
import { useMemo, useState, type ReactNode } from 'react'
import { Exploited, SeverityMark } from '../../parts/marks.tsx'
import { Rows, type Column } from '../../parts/rows.tsx'
import { chance } from '../../parts/words.ts'
import type { QueueItem } from './item.ts'
import { idOf, type RecordId } from './record-id.ts'

/** A record, with its risk as far as the queue has shown it. */
export type Risky = RecordId &
  Partial<Pick<QueueItem, 'worst_severity' | 'kev_count' | 'epss_max' | 'holding_count' | 'total_cve'>>

const COLUMNS: readonly Column<Risky>[] = [
  { head: 'Package', cell: ({ name, version, distribution }) => `${name} ${version} ${distribution}` },
  { head: 'Severity', cell: ({ worst_severity: worst }) => worst && <SeverityMark value={worst} /> },
  {
    head: 'Exploited',
    cell: ({ kev_count: n = 0 }) => n > 0 && <Exploited>{`${n} exploited`}</Exploited>,
  },
  { head: 'EPSS', number: true, cell: ({ epss_max: epss }) => (typeof epss === 'number' ? chance(epss) : '') },
  {
    head: 'Hold it',
    number: true,
    cell: ({ holding_count: holding, total_cve: total }) =>
      holding === undefined ? '' : `${holding} of ${total ?? holding}`,
  },
]

interface RiskRowsProps {
  records: readonly Risky[]
  label: string
  /** what happens to the record with this number */
  outcome?: (at: number) => ReactNode
  /** whether the record with this number is shown before the others, so that it is seen among thousands; kept by the page */
  isFirst?: ((at: number) => boolean) | undefined
}

/** Rows that a page draws without delay. */
const STEP = 100

export function RiskRows({ records, label, outcome, isFirst }: RiskRowsProps) {
  const [shown, setShown] = useState(STEP)
  const at = useMemo(() => new Map(records.map((record, i) => [record, i])), [records])
  const last: Column<Risky>[] = outcome ? [{ head: 'Outcome', cell: (record) => outcome(at.get(record) ?? 0) }] : []
  const ordered = useMemo(
    () => (isFirst ? [true, false].flatMap((now) => records.filter((_, i) => isFirst(i) === now)) : records),
    [records, isFirst],
  )
  const left = records.length - shown
  return (
    <>
      <Rows of={ordered.slice(0, shown)} label={label} id={idOf} columns={[...COLUMNS, ...last]} />
      {left > 0 && (
        <Button size="compact-sm" variant="default" mt="xs" onClick={() => setShown(shown + STEP)}>
          {`Show ${Math.min(STEP, left)} more of ${records.length}`}
        </Button>
      )}
    </>
  )
}
