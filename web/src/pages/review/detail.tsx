// One held record on one screen: reasons, findings, unscanned parts, changes, dependants; and the decision.
import { Button, Group, Text } from '@mantine/core'
import { useIsMutating, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useEffect, useEffectEvent, useState } from 'react'
import { call } from '../../api/api.ts'
import { useKeys } from '../../parts/keys.ts'
import { Answer, Failure } from '../../parts/answer.tsx'
import { Mark, Status, Toned } from '../../parts/marks.tsx'
import { Section } from '../../parts/page.tsx'
import { Rows } from '../../parts/rows.tsx'
import { When } from '../../parts/when.tsx'
import { ACTIONS, bytes, count, HELD_REASONS } from '../../parts/words.ts'
import { FindingsTable } from '../../parts/findings.tsx'
import { saw, Verdicts } from '../../parts/verdicts.tsx'
import { Decide, decidingKey } from './decide.tsx'
import { EMPTY_DRAFT, type Draft } from './decision.ts'
import { Due } from './entry.tsx'
import { evidenceOf, type Action, type Evidence, type QueueItem } from './item.ts'
import { Overtaken } from './overtaken.tsx'
import type { RecordId } from './record-id.ts'

/** The id of the element that gets the focus when a decision has opened the next record. */
export const OPEN_RECORD = 'open-record'

interface DetailProps {
  record: RecordId
  /** who downloaded it; null when the record is not on this page of the queue */
  radius: QueueItem['blast_radius'] | null
  action: Action | null
  setAction: (action: Action | null) => void
  mayDecide: boolean
  onDecided: (records: RecordId[]) => void
  /** the record no longer waits, whoever decided it */
  onSettled: (record: RecordId) => void
  /** the record waits again */
  onReopened: (record: RecordId) => void
}

export function Detail({
  record,
  radius,
  action,
  setAction,
  mayDecide,
  onDecided,
  onSettled,
  onReopened,
}: DetailProps) {
  const evidence = useQuery({ ...evidenceOf(record) })
  const queries = useQueryClient()
  const [draft, setDraft] = useState<Draft>(EMPTY_DRAFT)
  const rescan = useMutation({
    mutationFn: () => {
      const { name, version, distribution, arch } = record
      return call('POST /security/packages/{name}/{version}/rescan', {
        params: { name, version },
        query: { distribution, arch },
      })
    },
    onSuccess: () => queries.invalidateQueries({ queryKey: evidenceOf(record).queryKey }),
  })
  // The event of the person's own decision may arrive before its answer: then nobody else has decided.
  const isSending = useIsMutating({ mutationKey: decidingKey(record) }) > 0
  const isSettled = evidence.data !== undefined && evidence.data.status !== 'pending_review' && !isSending
  const settle = useEffectEvent(() => onSettled(record))
  useEffect(() => {
    if (isSettled) settle()
  }, [isSettled])
  useKeys(mayDecide ? { s: () => rescan.mutate() } : {})
  return (
    <article
      id={OPEN_RECORD}
      tabIndex={-1}
      aria-label={`${record.name} ${record.version}`}
      style={{ minWidth: 0, outline: 'none' }}
    >
      <Answer of={evidence} rows={10}>
        {(data) => (
          <>
            <Head data={data} />
            {mayDecide && !isSettled && (
              <>
                <Group gap="xs" mb="md">
                  <Button onClick={() => setAction('accept_risk')}>Approve</Button>
                  <Button variant="default" onClick={() => setAction('reject')}>
                    Reject
                  </Button>
                  <Button variant="default" onClick={() => setAction('upgrade_required')}>
                    Upgrade required
                  </Button>
                  <Button variant="default" loading={rescan.isPending} onClick={() => rescan.mutate()}>
                    Scan again
                  </Button>
                </Group>
                {rescan.isError && <Failure error={rescan.error} />}
                {rescan.data && (
                  <Text role="status">{`Scanned: ${count(rescan.data.cve_count, 'finding')}, ${rescan.data.new_cve_ids.length} new, ${rescan.data.dropped_cve_ids.length} gone.`}</Text>
                )}
                {action && (
                  <Decide
                    record={record}
                    evidence={data}
                    action={action}
                    setAction={setAction}
                    draft={draft}
                    setDraft={setDraft}
                    onDecided={onDecided}
                  />
                )}
              </>
            )}
            {mayDecide && isSettled && action && (
              <Overtaken
                record={record}
                evidence={data}
                action={action}
                draft={draft}
                setDraft={setDraft}
                close={() => setAction(null)}
                onReopened={() => onReopened(record)}
              />
            )}
            <Section title={`Findings (${data.findings_total})`}>
              <FindingsTable findings={data.findings} compared={saw(data.coverage['cve_scan'])} />
              {data.findings_total > data.findings.length && (
                <Text size="sm">
                  The first {data.findings.length} of {data.findings_total}.
                </Text>
              )}
            </Section>
            <Section title="Checks and what they covered">
              <Verdicts record={data} />
            </Section>
            <Changes previous={data.previous} />
            <Radius data={data} downloads={radius} />
            <Earlier
              data={data}
              reuse={
                mayDecide
                  ? (draft, action) => {
                      setDraft(draft)
                      setAction(action)
                    }
                  : null
              }
            />
          </>
        )}
      </Answer>
    </article>
  )
}

function Head({ data }: { data: Evidence }) {
  const { held, sla } = data
  return (
    <div style={{ marginBottom: '1rem' }}>
      <Text fz="lg" fw={650} component="h2" m={0} style={{ overflowWrap: 'anywhere' }}>
        <Link to="/packages/$name" params={{ name: data.package }} search={{ version: data.version }}>
          {data.package}
        </Link>{' '}
        <span className="mono">{data.version}</span>
      </Text>
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
        <Text>
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
        <Text size="sm">
          {held.reasons.map(({ id, reason }) => `${id}: ${reason.replaceAll('_', ' ')}`).join('; ')}
        </Text>
      )}
    </div>
  )
}

function Changes({ previous }: { previous: Evidence['previous'] }) {
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

function Radius({ data, downloads }: { data: Evidence; downloads: QueueItem['blast_radius'] | null }) {
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
          {served && <Mark color="var(--mantine-color-teal-7)">served</Mark>}
          <Text size="sm">{same ? 'the same bytes' : 'other bytes'}</Text>
        </Group>
      ))}
    </Section>
  )
}

function Earlier({ data, reuse }: { data: Evidence; reuse: ((draft: Draft, action: Action) => void) | null }) {
  if (data.decisions.length === 0) return null
  return (
    <Section title="Earlier decisions about these findings">
      <Rows
        of={data.decisions}
        label="Earlier decisions"
        id={({ id }) => String(id)}
        columns={[
          { head: 'Package', cell: ({ package: name, version, distribution }) => `${name} ${version} ${distribution}` },
          { head: 'Decision', cell: ({ action }) => ACTIONS[action as Action] },
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
                <Button
                  size="compact-xs"
                  variant="default"
                  onClick={() => reuse({ ...EMPTY_DRAFT, reason: justification }, action as Action)}
                >
                  Use again
                </Button>
              ) : null,
          },
        ]}
      />
    </Section>
  )
}
