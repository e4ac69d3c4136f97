// The head of the open record: what it is, the verdict in one sentence, and the buttons. It stays in view.
import { Group, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { Status, Toned } from '../../parts/marks.tsx'
import { When } from '../../parts/when.tsx'
import { bytes, HELD_REASONS } from '../../parts/words.ts'
import { Due } from './entry.tsx'
import type { Evidence, QueueItem } from './item.ts'
import { OPEN_RECORD, useWantedFocus } from './use-announced.ts'
import { verdictOf } from './verdict.ts'

interface HeadProps {
  data: Evidence
  downloads: QueueItem['blast_radius'] | null
  /** the buttons of a person who may decide */
  children: ReactNode
}

export function Head({ data, downloads, children }: HeadProps) {
  useWantedFocus()
  return (
    <div className="head">
      <Text fz="lg" fw={650} component="h2" m={0} id={OPEN_RECORD} tabIndex={-1} className="title">
        <Link to="/packages/$name" params={{ name: data.package }} search={{ version: data.version }}>
          {data.package}
        </Link>{' '}
        <span className="mono">{data.version}</span>
      </Text>
      <Text fw={500}>{verdictOf(data, downloads)}</Text>
      {children}
    </div>
  )
}

/** The facts below the head; they scroll. */
export function Facts({ data }: { data: Evidence }) {
  const { held, sla } = data
  return (
    <div style={{ marginBottom: '1rem' }}>
      <Text size="sm" c="dimmed">
        {data.distribution}, {data.arch}, {bytes(data.size_bytes)}, {data.import_method} by {data.imported_by}{' '}
        <When at={data.imported_at} />
      </Text>
      <Group gap="md" my={4}>
        <Status value={data.status} />
        <Toned tone={data.served ? 'care' : 'good'}>{data.served ? 'clients get it now' : 'no client gets it'}</Toned>
        <Due sla={sla} />
      </Group>
      {held?.reason && (
        <Text size="sm">
          Held because {HELD_REASONS[held.reason] ?? held.reason}
          {held.since && (
            <>
              , <When at={held.since} />
            </>
          )}
          .
        </Text>
      )}
      {held && held.reasons.length > 0 && (
        <Text size="sm" lineClamp={3}>
          {held.reasons.map(({ id, reason }) => `${id}: ${reason.replaceAll('_', ' ')}`).join('; ')}
        </Text>
      )}
    </div>
  )
}
