// One held record: the verdict, findings, unscanned parts, changes, dependants; and the decision.
import { Button, Group, Text } from '@mantine/core'
import { useIsMutating, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useEffect, useEffectEvent, useState } from 'react'
import { call } from '../../api/api.ts'
import { useKeys } from '../../parts/keys.ts'
import { Answer, Failure } from '../../parts/answer.tsx'
import { Section } from '../../parts/page.tsx'
import { count } from '../../parts/words.ts'
import { FindingsTable, inOrder } from '../../parts/findings.tsx'
import { saw, Verdicts } from '../../parts/verdicts.tsx'
import { Assign } from './assign.tsx'
import { Decide, decidingKey } from './decide.tsx'
import { suggestedEnding } from './ending.ts'
import { Facts, Head } from './head.tsx'
import { evidenceOf, type Action, type Evidence, type QueueItem } from './item.ts'
import type { Made } from './made.ts'
import { Onlookers } from './onlookers.tsx'
import { Overtaken } from './overtaken.tsx'
import type { RecordId } from './record-id.ts'
import { Changes, Earlier, Radius } from './sections.tsx'
import { useDraft } from './use-draft.ts'

interface DetailProps {
  record: RecordId
  /** who downloaded it; null when the record is not on this page of the queue */
  radius: QueueItem['blast_radius'] | null
  action: Action | null
  setAction: (action: Action | null) => void
  mayDecide: boolean
  /** of the setting; 0: no end */
  approvalDays: number
  onDecided: (records: RecordId[], made: Made) => void
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
  approvalDays,
  onDecided,
  onSettled,
  onReopened,
}: DetailProps) {
  const evidence = useQuery({ ...evidenceOf(record) })
  const isExploited = evidence.data?.findings.some((finding) => finding.holding && finding.in_kev) ?? false
  const suggested = suggestedEnding(isExploited, approvalDays)
  const { fresh, draft, setDraft, forget } = useDraft({ record, ending: suggested.ending, action, reopen: setAction })
  const rescan = useRescan(record)
  // The event of the person's own decision may arrive before its answer: then nobody else has decided.
  const isSending = useIsMutating({ mutationKey: decidingKey(record) }) > 0
  const isSettled = evidence.data !== undefined && evidence.data.status !== 'pending_review' && !isSending
  const settle = useEffectEvent(() => onSettled(record))
  useEffect(() => {
    if (isSettled) settle()
  }, [isSettled])
  useKeys(mayDecide ? { s: () => rescan.mutate() } : {})
  const decided = (records: RecordId[], made: Made) => {
    forget()
    onDecided(records, made)
  }
  return (
    <article aria-label={`${record.name} ${record.version}`} style={{ minWidth: 0 }}>
      <Answer of={evidence} rows={10}>
        {(data) => (
          <>
            <Head data={data} downloads={radius}>
              <Onlookers record={record} />
              {mayDecide && !isSettled && <Buttons setAction={setAction} rescan={rescan} />}
            </Head>
            {mayDecide && !isSettled && action && (
              <Decide
                {...{ record, action, setAction, draft, setDraft }}
                evidence={data}
                suggested={suggested}
                onDecided={decided}
              />
            )}
            {mayDecide && isSettled && action && (
              <Overtaken
                {...{ record, action, draft, setDraft }}
                evidence={data}
                close={() => setAction(null)}
                onReopened={() => onReopened(record)}
              />
            )}
            <Facts data={data} />
            {data.held && <Assign record={record} to={data.held.assigned_to} />}
            <Findings data={data} />
            <Section title="Checks and what they covered">
              <Verdicts record={data} />
            </Section>
            <Changes previous={data.previous} />
            <Radius data={data} downloads={radius} />
            <Earlier
              data={data}
              reuse={
                mayDecide
                  ? (reason, action) => {
                      setDraft({ ...fresh, reason })
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

function useRescan({ name, version, distribution, arch }: RecordId) {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: () =>
      call('POST /security/packages/{name}/{version}/rescan', {
        params: { name, version },
        query: { distribution, arch },
      }),
    onSuccess: () =>
      queries.invalidateQueries({ queryKey: evidenceOf({ name, version, distribution, arch }).queryKey }),
  })
}

function Buttons({ setAction, rescan }: { setAction: (action: Action) => void; rescan: ReturnType<typeof useRescan> }) {
  return (
    <>
      <Group gap="xs" mt="xs">
        <Button size="compact-md" onClick={() => setAction('accept_risk')}>
          Approve
        </Button>
        <Button size="compact-md" variant="default" onClick={() => setAction('reject')}>
          Reject
        </Button>
        <Button size="compact-md" variant="default" onClick={() => setAction('upgrade_required')}>
          Upgrade required
        </Button>
        <Button size="compact-md" variant="default" loading={rescan.isPending} onClick={() => rescan.mutate()}>
          Scan again
        </Button>
      </Group>
      {rescan.isError && <Failure error={rescan.error} />}
      {rescan.data && (
        <Text role="status">{`Scanned: ${count(rescan.data.cve_count, 'finding')}, ${rescan.data.new_cve_ids.length} new, ${rescan.data.dropped_cve_ids.length} gone.`}</Text>
      )}
    </>
  )
}

/** Findings that are shown before "show more". */
const FIRST = 10

function Findings({ data }: { data: Evidence }) {
  const [isWhole, setWhole] = useState(false)
  const findings = inOrder(data.findings)
  const total = data.findings_total
  const shown = isWhole ? findings : findings.slice(0, FIRST)
  return (
    <Section title={`Findings (${total})`}>
      <FindingsTable findings={shown} compared={saw(data.coverage['cve_scan'])} />
      {findings.length > FIRST && (
        <Button mt="xs" size="compact-sm" variant="default" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
          {isWhole ? `Show the first ${FIRST}` : `Show ${total - FIRST} more`}
        </Button>
      )}
      {isWhole && total > findings.length && (
        <Text size="sm" mt="xs">
          {`The first ${findings.length} of ${total}; `}
          <Link to="/vulnerabilities" search={{ q: data.package, distribution: data.distribution }}>
            all of them
          </Link>
          .
        </Text>
      )}
    </Section>
  )
}
