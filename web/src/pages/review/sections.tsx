// What else a reviewer looks at: the version before, who has to do with the package, earlier decisions.
import { Button, Group, Text } from '@mantine/core'
import { Status, Toned } from '../../parts/marks.tsx'
import { Section } from '../../parts/page.tsx'
import { Rows } from '../../parts/rows.tsx'
import { When } from '../../parts/when.tsx'
import { ACTIONS, count } from '../../parts/words.ts'
import type { Action, Evidence, QueueItem } from './item.ts'

export function Changes({ previous }: { previous: Evidence['previous'] }) {
  return (
    <Section title="Against the version before">
      {previous === null ? (
        <Text size="sm">No earlier version of it is published here.</Text>
      ) : (
        <Text size="sm" component="div">
          <span className="mono">{previous.version}</span>: {previous.added_total} findings new, {previous.same_total}{' '}
          the same, {previous.gone_total} gone.
          {previous.gone.length > 0 && (
            <div>
              Gone:{' '}
              {previous.gone
                .slice(0, 20)
                .map(({ id }) => id)
                .join(', ')}
            </div>
          )}
        </Text>
      )}
    </Section>
  )
}

export function Radius({ data, downloads }: { data: Evidence; downloads: QueueItem['blast_radius'] | null }) {
  const { dependants, dependants_total: total, only_total: only, others } = data
  return (
    <Section title="Who has to do with it">
      {downloads && (
        <Text size="sm">{`Downloaded ${count(downloads.downloads, 'time')} by ${count(downloads.clients, 'client')} in ${downloads.days} days.`}</Text>
      )}
      <Text size="sm">
        {total === 0
          ? 'No published package needs it.'
          : `${count(total, 'published package needs', 'published packages need')} it${only > 0 ? `, ${only} of them have nothing else` : ''}: ${dependants.map(({ name }) => name).join(', ')}`}
      </Text>
      {others.map(({ distribution, arch, status, served, same_bytes: same }) => (
        <Group gap="sm" key={`${distribution} ${arch}`}>
          <Text size="sm">
            {distribution} {arch}
          </Text>
          <Status value={status} />
          {served && <Toned tone="good">served</Toned>}
          <Text size="sm">{same ? 'the same bytes' : 'other bytes'}</Text>
        </Group>
      ))}
    </Section>
  )
}

export function Earlier({ data, reuse }: { data: Evidence; reuse: ((reason: string, action: Action) => void) | null }) {
  if (data.decisions.length === 0) return null
  return (
    <Section title="Earlier decisions about these findings">
      <Rows
        of={data.decisions}
        label="Earlier decisions"
        id={({ id }) => String(id)}
        columns={[
          { head: 'Package', cell: ({ package: name, version, distribution }) => `${name} ${version} ${distribution}` },
          { head: 'Decision', cell: ({ action }) => ACTIONS[action] },
          { head: 'Why', cell: ({ justification }) => justification },
          { head: 'Covers here', cell: ({ covers_here: ids }) => ids.slice(0, 4).join(', ') },
          {
            head: 'By',
            cell: ({ decided_by: who, decided_at: at }) => (
              <>
                {who} <When at={at} />
              </>
            ),
          },
          {
            head: '',
            cell: ({ justification, action }) =>
              reuse ? (
                <Button size="compact-xs" variant="default" onClick={() => reuse(justification, action)}>
                  Use again
                </Button>
              ) : null,
          },
        ]}
      />
    </Section>
  )
}
