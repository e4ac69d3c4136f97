// One decision about several records: the reason first, then each with its risk and what would happen to it, which the server says
// before. Failed ones stay selected.
import { Button, Group, Modal, Stack, Text } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useCallback, useId, useState } from 'react'
import { call } from '../../api/api.ts'
import { Failure } from '../../parts/answer.tsx'
import { Form } from '../../parts/form.tsx'
import { Toned } from '../../parts/marks.tsx'
import { count } from '../../parts/words.ts'
import { daysOf, suggestedEnding } from './ending.ts'
import { Ends } from './ends.tsx'
import { inParts, PART, type Steps } from './in-parts.ts'
import type { Made } from './made.ts'
import { outcomesOf, type Outcomes } from './outcomes.ts'
import { Reason } from './reasons.tsx'
import { idOf } from './record-id.ts'
import { RiskRows, type Risky } from './risks.tsx'

/** with the digest that the queue showed */
export type Chosen = Risky & { sha256?: string | undefined }

interface BulkProps {
  decision: 'approve' | 'reject'
  records: readonly Chosen[]
  /** of the setting; 0: no end */
  approvalDays: number
  close: () => void
  /** @param failed ids of failed ones */
  onDone: (records: readonly Chosen[], failed: ReadonlySet<string>, made: Made) => void
}

export function Bulk({ decision, records: selected, approvalDays, close, onDone }: BulkProps) {
  // The records at the time of opening: afterwards only failed ones are selected, but the result is about all.
  const [records] = useState(selected)
  const [suggested] = useState(() =>
    suggestedEnding(
      records.some(({ kev_count: n = 0 }) => n > 0),
      approvalDays,
    ),
  )
  const [reason, setReason] = useState('')
  const [ending, setEnding] = useState(suggested.ending)
  const now = Date.now()
  const approves = decision === 'approve'
  const days = approves ? daysOf(ending, now) : null
  const { preview, decide, answered } = useBulk(decision, records, close, onDone)
  const ready = reason.trim() !== '' && days !== undefined && preview.data?.decided !== 0
  const send = () => ready && !decide.isPending && decide.mutate({ reason, days })
  const verb = approves ? 'Approve' : 'Reject'
  return (
    <Modal opened onClose={close} title={`${verb} ${count(records.length, 'package')}`} size="xl">
      <Form send={send}>
        <Stack>
          {!decide.data && (
            <>
              <Reason kind={decision} label="Reason for all" data-autofocus value={reason} change={setReason} />
              {approves && <Ends ending={ending} now={now} choose={setEnding} suggested={suggested} />}
            </>
          )}
          {decide.isError && <Failure error={decide.error} />}
          {preview.isError && !decide.data && <Failure error={preview.error} retry={() => void preview.refetch()} />}
          <Group>
            {!decide.data && (
              <Button type="submit" loading={decide.isPending} disabled={!ready} color={approves ? undefined : 'red'}>
                {decide.isPending ? 'Publishing…' : verb}
              </Button>
            )}
            <Button variant="default" onClick={close}>
              Close
            </Button>
          </Group>
          <Outcome
            outcomes={decide.data ?? (decide.isPending ? undefined : preview.data)}
            isPlanned={!decide.data}
            {...{ records, answered }}
            doing={decide.isPending ? 'Deciding' : 'The service checks what would happen to each'}
          />
        </Stack>
      </Form>
    </Modal>
  )
}

/** The preview, and the decision itself; `answered`: how many records of the one that runs have their result. */
function useBulk(
  decision: BulkProps['decision'],
  records: readonly Chosen[],
  close: () => void,
  onDone: BulkProps['onDone'],
) {
  const queries = useQueryClient()
  const [answered, setAnswered] = useState(0)
  // Not by its records: the key of 2,000 would be compared with each render.
  const previewKey = ['POST /security/decisions/bulk', useId()]
  const sent = async (steps: Steps, more: { justification: string; dry_run?: boolean; expires_in_days?: number }) => {
    setAnswered(0)
    const send = (part: Chosen[]) =>
      call('POST /security/decisions/bulk', { body: { items: part.map(itemOf), decision, ...more } })
    return outcomesOf(await inParts(records, send, { ...steps, progress: setAnswered }), records.length)
  }
  const preview = useQuery({
    queryKey: previewKey,
    queryFn: ({ signal }) => sent({ signal }, { justification: 'preview', dry_run: true }),
    staleTime: Infinity,
    gcTime: 0,
  })
  const decide = useMutation({
    mutationFn: async ({ reason, days }: { reason: string; days: number | null | undefined }) => {
      await queries.cancelQueries({ queryKey: previewKey })
      return sent({}, { justification: reason, ...(days ? { expires_in_days: days } : {}) })
    },
    onMutate: () => Date.now(),
    onSuccess: ({ items, decided, failed, publishes }, _, sentAt) => {
      const ids = items.flatMap(({ result }, i) => (result === 'failed' && records[i] ? [idOf(records[i])] : []))
      onDone(records, new Set(ids), {
        ids: items.flatMap(({ decisions }) => decisions.map(({ id }) => id)),
        action: decision === 'approve' ? 'accept_risk' : 'reject',
        what: count(decided, 'package'),
        where: publishes,
        at: Date.now(),
        seconds: (Date.now() - sentAt) / 1000,
      })
      void queries.invalidateQueries({ queryKey: ['GET /dashboard/summary'] })
      if (failed === 0) close()
    },
    // It may have been sent before the preview was there.
    onError: () => void preview.refetch(),
  })
  return { preview, decide, answered }
}

const itemOf = ({ name, version, distribution, arch, sha256 }: Chosen) => ({
  ...{ package: name, version, distribution, arch },
  ...(sha256 === undefined ? {} : { sha256 }),
})

const EFFECTS = { offers: 'clients get it', withdraws: 'clients lose it', none: 'nothing changes for clients' } as const

interface OutcomeProps {
  outcomes: Outcomes | undefined
  isPlanned: boolean
  records: readonly Chosen[]
  answered: number
  /** what the service does while there are no outcomes */
  doing: string
}

function Outcome({ outcomes, isPlanned, records, answered, doing }: OutcomeProps) {
  const isFirst = useCallback((at: number) => outcomes?.items[at]?.result === 'failed', [outcomes])
  return (
    <>
      <Text role="status" size="sm">
        {outcomes ? toldOf(outcomes, isPlanned) : `${doing}…`}
      </Text>
      {!outcomes && records.length > PART && (
        <progress max={records.length} value={answered} aria-label={`${answered} of ${records.length} packages`} />
      )}
      <RiskRows
        records={records}
        label="What happens to each"
        isFirst={isFirst}
        outcome={(at) => {
          const item = outcomes?.items[at]
          if (!item) return null
          if (item.result === 'failed') return <Toned tone="bad">{item.detail ?? 'failed'}</Toned>
          // Without a colour: green would say that it is good to offer it.
          return (
            item.records.map(({ distribution, effect }) => `${distribution}: ${EFFECTS[effect]}`).join('; ') ||
            'decided'
          )
        }}
      />
    </>
  )
}

function toldOf({ decided, failed, publishes, parts }: Outcomes, isPlanned: boolean): string {
  const [are, fail, is] = isPlanned ? ['would be', 'would fail', 'would be'] : ['are', 'failed', 'is']
  const published =
    publishes.length === 0 ? '' : `; ${publishes.join(', ')} ${is} published ${parts === 1 ? 'once' : `${parts} times`}`
  return `${count(decided, 'package')} ${are} decided, ${failed} ${fail}${published}.`
}
