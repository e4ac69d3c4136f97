// One decision about several records. A preview of the server shows each result first; failed ones stay selected.
import { Button, Group, Modal, Stack, Text, Textarea } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call, read, type Answered } from '../../api/api.ts'
import { Answer, Failure } from '../../parts/answer.tsx'
import { Form } from '../../parts/form.tsx'
import { Toned } from '../../parts/marks.tsx'
import { Rows } from '../../parts/rows.tsx'
import { count } from '../../parts/words.ts'
import { idOf, type RecordId } from './record-id.ts'

type BulkAnswer = Answered<'POST /security/decisions/bulk'>

interface BulkProps {
  decision: 'approve' | 'reject'
  /** with the digest that the queue showed */
  records: readonly (RecordId & { sha256?: string | undefined })[]
  close: () => void
  /** called with the ids of failed ones */
  onDone: (failed: ReadonlySet<string>) => void
}

export function Bulk({ decision, records: selected, close, onDone }: BulkProps) {
  // The records at the time of opening: afterwards only failed ones are selected, but the result is about all.
  const [records] = useState(selected)
  const queries = useQueryClient()
  const [reason, setReason] = useState('')
  const items = records.map(({ name, version, distribution, arch, sha256 }) => ({
    ...{ package: name, version, distribution, arch },
    ...(sha256 === undefined ? {} : { sha256 }),
  }))
  const preview = useQuery({
    ...read('POST /security/decisions/bulk', { body: { items, decision, justification: 'preview', dry_run: true } }),
    staleTime: 0,
  })
  const decide = useMutation({
    mutationFn: () => call('POST /security/decisions/bulk', { body: { items, decision, justification: reason } }),
    onSuccess: (answer) => {
      onDone(
        new Set(answer.items.flatMap(({ result }, i) => (result === 'failed' && records[i] ? [idOf(records[i])] : []))),
      )
      void queries.invalidateQueries({ queryKey: ['GET /dashboard/summary'] })
      if (answer.failed === 0) close()
    },
  })
  const send = () => reason.trim() !== '' && !decide.isPending && decide.mutate()
  return (
    <Modal
      opened
      onClose={close}
      title={`${decision === 'approve' ? 'Approve' : 'Reject'} ${count(records.length, 'package')}`}
      size="xl"
    >
      <Form send={send}>
        <Stack>
          {decide.data ? (
            <Outcome answer={decide.data} records={records} />
          ) : (
            <Answer of={preview}>{(answer) => <Outcome answer={answer} records={records} />}</Answer>
          )}
          {!decide.data && (
            <Textarea
              label="Reason for all"
              required
              autosize
              minRows={2}
              maxLength={2000}
              data-autofocus
              value={reason}
              onChange={(event) => setReason(event.currentTarget.value)}
            />
          )}
          {decide.isError && <Failure error={decide.error} />}
          <Group>
            {!decide.data && (
              <Button
                type="submit"
                loading={decide.isPending}
                disabled={reason.trim() === '' || preview.data?.decided === 0}
              >
                {decide.isPending ? 'Publishing…' : decision === 'approve' ? 'Approve' : 'Reject'}
              </Button>
            )}
            <Button variant="default" onClick={close}>
              Close
            </Button>
          </Group>
        </Stack>
      </Form>
    </Modal>
  )
}

const EFFECTS = { offers: 'clients get it', withdraws: 'clients lose it', none: 'nothing changes for clients' } as const

function Outcome({ answer, records }: { answer: BulkAnswer; records: readonly RecordId[] }) {
  const planned = answer.status === 'dry_run'
  return (
    <>
      <Text role="status">
        {`${count(answer.decided, 'package')} ${planned ? 'would be' : 'are'} decided, ${answer.failed} ${planned ? 'would fail' : 'failed'}`}
        {answer.publishes.length > 0 &&
          `; ${answer.publishes.join(', ')} ${planned ? 'would be' : 'is'} published once`}
        .
      </Text>
      <Rows
        of={answer.items.map((item, i) => ({ ...item, at: i }))}
        label="What happens to each"
        id={({ at }) => String(at)}
        columns={[
          {
            head: 'Package',
            cell: ({ package: name, version, at }) => `${name} ${version} ${records[at]?.distribution ?? ''}`,
          },
          {
            head: 'Outcome',
            cell: ({ result, records: changed, detail }) => (
              <Toned tone={result === 'decided' ? 'good' : 'bad'}>
                {result === 'decided'
                  ? changed.map(({ distribution, effect }) => `${distribution}: ${EFFECTS[effect]}`).join('; ') ||
                    'decided'
                  : (detail ?? 'failed')}
              </Toned>
            ),
          },
        ]}
      />
    </>
  )
}
