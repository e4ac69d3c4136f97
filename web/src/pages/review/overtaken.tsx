// Shown to somebody whose decision came too late: who decided what, their own text, and what they can still do.
import { Alert, Button, Group, Stack, Text, Textarea } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../api/api.ts'
import { Failure } from '../../parts/answer.tsx'
import { copy } from '../../parts/copy.ts'
import { Foreign } from '../../parts/foreign.tsx'
import { ACTIONS } from '../../parts/words.ts'
import type { Draft } from './decision.ts'
import { evidenceOf, type Action, type Evidence } from './item.ts'
import { decisionInForce, meanwhile } from './meanwhile.ts'
import type { RecordId } from './record-id.ts'

interface OvertakenProps {
  record: RecordId
  evidence: Evidence
  action: Action
  draft: Draft
  setDraft: (draft: Draft) => void
  close: () => void
  /** the other decision was withdrawn: the record waits again */
  onReopened: () => void
}

export function Overtaken({ record, evidence, action, draft, setDraft, close, onReopened }: OvertakenProps) {
  const { name, version, distribution, arch } = record
  const queries = useQueryClient()
  const [copied, setCopied] = useState<string | null>(null)
  const decision = decisionInForce(evidence)
  const isWritten = draft.reason.trim() !== ''
  const again = () => queries.invalidateQueries({ queryKey: evidenceOf(record).queryKey })
  const quarantine = useMutation({
    mutationFn: () =>
      call('POST /security/packages/{name}/{version}/quarantine', {
        params: { name, version },
        query: { distribution, arch },
        // The declaration has no body, but the service accepts the reason.
        body: { reason: draft.reason },
      }),
    onSuccess: async () => {
      close()
      await again()
    },
    onError: again,
  })
  const takeBack = useMutation({
    mutationFn: (id: number) =>
      call('DELETE /security/decisions/{id}', { params: { id }, body: { note: draft.reason } }),
    // The record waits again, and the form returns with the typed text.
    onSuccess: async () => {
      await again()
      onReopened()
    },
    onError: again,
  })
  const failed = [quarantine, takeBack].find(({ isError }) => isError)
  const isBusy = quarantine.isPending || takeBack.isPending
  return (
    <Alert variant="outline" color="yellow" mb="lg" title="Somebody was faster" role="group">
      <Stack>
        <Text size="sm" role="status">
          <Foreign>{meanwhile(evidence, Date.now())}</Foreign> Your decision ({ACTIONS[action]}) was not made. What you
          typed is here.
        </Text>
        <Textarea
          label="Your reason"
          autosize
          minRows={2}
          maxLength={2000}
          value={draft.reason}
          onChange={(event) => setDraft({ ...draft, reason: event.currentTarget.value })}
        />
        {failed && <Failure error={failed.error} />}
        <Group>
          {evidence.status === 'published' && (
            <Button
              color="red"
              variant="outline"
              disabled={!isWritten || isBusy}
              loading={quarantine.isPending}
              onClick={() => quarantine.mutate()}
            >
              Quarantine it
            </Button>
          )}
          {evidence.status === 'published' && decision && (
            <Button
              variant="default"
              disabled={!isWritten || isBusy}
              loading={takeBack.isPending}
              onClick={() => takeBack.mutate(decision.id)}
            >
              Withdraw that decision, and decide again
            </Button>
          )}
          <Button
            variant="default"
            disabled={!isWritten}
            onClick={() =>
              void copy(draft.reason).then((done) => setCopied(done ? 'Copied.' : 'Select the text and press Ctrl+C.'))
            }
          >
            Copy the text
          </Button>
          <Button variant="subtle" onClick={close}>
            Leave it so
          </Button>
          <Text size="sm" role="status">
            {copied}
          </Text>
        </Group>
      </Stack>
    </Alert>
  )
}
