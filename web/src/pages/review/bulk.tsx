// One decision about several records: the reason first, then each with its risk and what would happen to it, which the server says
// before. Failed ones stay selected.
import { Button, Group, Modal, Stack, Text } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call, read, type Answered } from '../../api/api.ts'
import { Failure } from '../../parts/answer.tsx'
import { Form } from '../../parts/form.tsx'
import { Toned } from '../../parts/marks.tsx'
import { count } from '../../parts/words.ts'
import { daysOf, safeEnding, type Ending } from './ending.ts'
import { Ends, WHY_SAFE } from './ends.tsx'
import type { Made } from './made.ts'
import { Reason } from './reasons.tsx'
import { idOf } from './record-id.ts'
import { RiskRows, type Risky } from './risks.tsx'

type BulkAnswer = Answered<'POST /security/decisions/bulk'>
/** with the digest that the queue showed */
export type Chosen = Risky & { sha256?: string | undefined }

interface BulkProps {
  decision: 'approve' | 'reject'
  records: readonly Chosen[]
  close: () => void
  /** @param failed ids of failed ones */
  onDone: (records: readonly Chosen[], failed: ReadonlySet<string>, made: Made) => void
}

export function Bulk({ decision, records: selected, close, onDone }: BulkProps) {
  // The records at the time of opening: afterwards only failed ones are selected, but the result is about all.
  const [records] = useState(selected)
  const isExploited = records.some(({ kev_count: n = 0 }) => n > 0)
  const [reason, setReason] = useState('')
  const [ending, setEnding] = useState<Ending>(() => safeEnding(isExploited))
  const now = Date.now()
  const approves = decision === 'approve'
  const days = approves ? daysOf(ending, now) : null
  const { preview, decide } = useBulk(decision, records, close, onDone)
  const ready = reason.trim() !== '' && days !== undefined && preview.data?.decided !== 0
  const send = () => ready && !decide.isPending && decide.mutate({ reason, days })
  const verb = approves ? 'Approve' : 'Reject'
  return (
    <Modal
      opened
      onClose={close}
      title={`${verb} ${count(records.length, 'package')}`}
      size="xl"
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <Form send={send}>
        <Stack>
          {!decide.data && (
            <>
              <Reason kind={decision} label="Reason for all" data-autofocus value={reason} change={setReason} />
              {approves && (
                <Ends
                  ending={ending}
                  now={now}
                  choose={setEnding}
                  why={isExploited && ending.choice === '90' ? WHY_SAFE : null}
                />
              )}
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
          <Outcome answer={decide.data ?? preview.data} records={records} />
        </Stack>
      </Form>
    </Modal>
  )
}

/** The preview, and the decision itself. */
function useBulk(
  decision: BulkProps['decision'],
  records: readonly Chosen[],
  close: () => void,
  onDone: BulkProps['onDone'],
) {
  const queries = useQueryClient()
  const items = records.map(({ name, version, distribution, arch, sha256 }) => ({
    ...{ package: name, version, distribution, arch },
    ...(sha256 === undefined ? {} : { sha256 }),
  }))
  const preview = useQuery({
    ...read('POST /security/decisions/bulk', { body: { items, decision, justification: 'preview', dry_run: true } }),
    staleTime: 0,
  })
  const decide = useMutation({
    mutationFn: ({ reason, days }: { reason: string; days: number | null | undefined }) =>
      call('POST /security/decisions/bulk', {
        body: { items, decision, justification: reason, ...(days ? { expires_in_days: days } : {}) },
      }),
    onMutate: () => performance.now(),
    onSuccess: (answer, _, sentAt) => {
      const failed = answer.items.flatMap(({ result }, i) =>
        result === 'failed' && records[i] ? [idOf(records[i])] : [],
      )
      onDone(records, new Set(failed), {
        ids: answer.items.flatMap(({ decisions }) => decisions.map(({ id }) => id)),
        action: decision === 'approve' ? 'accept_risk' : 'reject',
        what: count(answer.decided, 'package'),
        where: answer.publishes,
        seconds: (performance.now() - sentAt) / 1000,
      })
      void queries.invalidateQueries({ queryKey: ['GET /dashboard/summary'] })
      if (answer.failed === 0) close()
    },
  })
  return { preview, decide }
}

const EFFECTS = { offers: 'clients get it', withdraws: 'clients lose it', none: 'nothing changes for clients' } as const

function Outcome({ answer, records }: { answer: BulkAnswer | undefined; records: readonly Chosen[] }) {
  const planned = answer?.status === 'dry_run'
  return (
    <>
      <Text role="status" size="sm">
        {answer
          ? `${count(answer.decided, 'package')} ${planned ? 'would be' : 'are'} decided, ${answer.failed} ${planned ? 'would fail' : 'failed'}${
              answer.publishes.length > 0
                ? `; ${answer.publishes.join(', ')} ${planned ? 'would be' : 'is'} published once`
                : ''
            }.`
          : 'The service checks what would happen to each…'}
      </Text>
      <RiskRows
        records={records}
        label="What happens to each"
        outcome={(at) => {
          const item = answer?.items[at]
          if (!item) return null
          const { result, records: changed, detail } = item
          if (result === 'failed') return <Toned tone="bad">{detail ?? 'failed'}</Toned>
          // Without a colour: green would say that it is good to offer it.
          return (
            changed.map(({ distribution, effect }) => `${distribution}: ${EFFECTS[effect]}`).join('; ') || 'decided'
          )
        }}
      />
    </>
  )
}
