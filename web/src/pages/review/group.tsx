// The right pane for a group: its packages with their risk, and one decision about all of them.
import { Button, Group, Text } from '@mantine/core'
import type { UseQueryResult } from '@tanstack/react-query'
import { Answer } from '../../parts/answer.tsx'
import { Section } from '../../parts/page.tsx'
import { chance, count } from '../../parts/words.ts'
import type { QueueGroup, QueueItem } from './item.ts'
import { idOf } from './record-id.ts'
import { RiskRows } from './risks.tsx'
import { groupName, type GroupedBy } from './rows.ts'
import { OPEN_RECORD, useWantedFocus } from './use-announced.ts'

interface GroupDetailProps {
  group: QueueGroup | null
  by: GroupedBy
  /** the first ones, as far as one decision can be about them */
  members: UseQueryResult<{ items: QueueItem[]; total: number }>
  decided: ReadonlySet<string>
  mayDecide: boolean
  decide: (decision: 'approve' | 'reject', records: readonly QueueItem[]) => void
}

export function GroupDetail({ group, by, members, decided, mayDecide, decide }: GroupDetailProps) {
  return (
    <article aria-labelledby={OPEN_RECORD}>
      <Answer of={members} rows={10}>
        {({ items, total }) => {
          const waiting = items.filter((one) => !decided.has(idOf(one)))
          const first = items[0]
          const name = group ? groupName(group, by) : first ? `${first.source_package} ${first.source_version}` : ''
          return (
            <>
              <div className="head">
                <Heading name={name} />
                <Text>{sentence(items, total, shared(by, group))}</Text>
                {mayDecide && waiting.length > 0 && (
                  <Group gap="xs" my="xs">
                    <Button onClick={() => decide('approve', waiting)}>{`Approve all ${waiting.length}`}</Button>
                    <Button variant="default" onClick={() => decide('reject', waiting)}>
                      {`Reject all ${waiting.length}`}
                    </Button>
                  </Group>
                )}
                {total > items.length && (
                  <Text size="sm">{`The first ${items.length} of ${total} are decided at once.`}</Text>
                )}
              </div>
              <Section title="Packages">
                <RiskRows records={items} label="Packages of the group" />
              </Section>
            </>
          )
        }}
      </Answer>
    </article>
  )
}

function Heading({ name }: { name: string }) {
  useWantedFocus()
  return (
    <Text fz="lg" fw={650} component="h2" m={0} id={OPEN_RECORD} tabIndex={-1} className="title">
      {name}
    </Text>
  )
}

function shared(by: GroupedBy, group: QueueGroup | null): string {
  if (by === 'source') return 'of one source'
  return group?.fix_version ? `that ${group.fix_version} of the source fixes` : 'with the same findings'
}

/** @returns "28 packages of one source, 3 known exploited, EPSS up to 92 %." */
function sentence(items: readonly QueueItem[], total: number, shared: string): string {
  const exploited = items.filter(({ kev_count: n }) => n > 0).length
  const epss = Math.max(0, ...items.map(({ epss_max }) => epss_max ?? 0))
  return `${[
    `${count(total, 'package')} ${shared}`,
    ...(exploited > 0 ? [`${exploited} known exploited`] : []),
    ...(epss > 0 ? [`EPSS up to ${chance(epss)}`] : []),
  ].join(', ')}.`
}
