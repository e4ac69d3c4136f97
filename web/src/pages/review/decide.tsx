// The decision: a reason, what it covers, how long it holds, and what clients get or lose by it.
import { Alert, Button, Group, SegmentedControl, Stack, Text, Textarea, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { call } from '../../api/api.ts'
import { Failure } from '../../parts/answer.tsx'
import { Form } from '../../parts/form.tsx'
import { ACTIONS, count } from '../../parts/words.ts'
import { evidenceOf, type Action, type Evidence } from './item.ts'
import type { RecordId } from './record-id.ts'
import { heldElsewhere, leftOpen, ScopeChoice, WHOLE, type Scope } from './scope.tsx'

export interface Draft {
  reason: string
  /** until the decision ends; null: no end */
  days: number | null
}

const EXPIRIES = ['7', '30', '90', '180', 'date', 'none'] as const

interface DecideProps {
  record: RecordId
  evidence: Evidence
  action: Action
  setAction: (action: Action | null) => void
  draft: Draft
  setDraft: (draft: Draft) => void
  /** @param records those that the decision was about: the open one first */
  onDecided: (records: RecordId[]) => void
}

export function Decide({ record, evidence, action, setAction, draft, setDraft, onDecided }: DecideProps) {
  const { name, version, distribution, arch } = record
  const queries = useQueryClient()
  const field = useRef<HTMLTextAreaElement>(null)
  const [expiry, setExpiry] = useState<(typeof EXPIRIES)[number]>('none')
  const [target, setTarget] = useState('')
  const [scope, setScope] = useState<Scope>(WHOLE)
  const approves = action === 'accept_risk' || action === 'exception'
  useEffect(() => field.current?.focus(), [action])

  const decide = useMutation({
    mutationFn: () =>
      call('POST /security/packages/{name}/{version}/decide', {
        params: { name, version },
        query: {},
        body: {
          // With an end it is an exception; the words of the API for the same button.
          action: approves ? (draft.days === null ? 'accept_risk' : 'exception') : action,
          justification: draft.reason,
          // Without a distribution it is about all where these bytes are held.
          ...(scope.elsewhere ? {} : { distribution }),
          arch,
          ...(scope.findings !== null && { cve_ids: [...scope.findings] }),
          ...(approves && draft.days !== null && { expires_in_days: draft.days }),
          ...(action === 'upgrade_required' && target && { target_version: target }),
        },
      }),
    onSuccess: async () => {
      const others = scope.elsewhere ? heldElsewhere(evidence) : []
      const records = [distribution, ...others].map((one) => ({ name, version, arch, distribution: one }))
      onDecided(records)
      for (const one of records) await queries.invalidateQueries({ queryKey: evidenceOf(one).queryKey })
    },
    // What was typed stays; somebody may have decided meanwhile.
    onError: () => void queries.invalidateQueries({ queryKey: evidenceOf(record).queryKey }),
  })
  const isWhole = scope.findings === null || leftOpen(evidence.findings, scope.findings).length === 0
  const ready = draft.reason.trim() !== '' && scope.findings?.length !== 0 && (isWhole || !approves)
  const send = () => ready && !decide.isPending && decide.mutate()
  const choose = (value: (typeof EXPIRIES)[number]) => {
    setExpiry(value)
    if (value !== 'date') setDraft({ ...draft, days: value === 'none' ? null : Number(value) })
  }

  return (
    <Alert
      variant="outline"
      color="gray"
      mb="lg"
      title={approves ? 'Approve' : ACTIONS[action]}
      styles={{ body: { minWidth: 0 } }}
    >
      <Form
        send={send}
        onKeyDown={(event) => {
          if (event.key === 'Escape') setAction(null)
        }}
      >
        <Stack>
          <Text size="sm">{effect(action, evidence, scope)}</Text>
          <Textarea
            ref={field}
            label="Reason"
            description="Auditors read it."
            required
            autosize
            minRows={2}
            maxLength={2000}
            value={draft.reason}
            onChange={(event) => setDraft({ ...draft, reason: event.currentTarget.value })}
          />
          {approves && (
            <Group align="flex-end">
              <div style={{ maxWidth: '100%', overflowX: 'auto' }}>
                <Text size="sm" fw={500} id="expiry">
                  Ends
                </Text>
                <SegmentedControl
                  aria-labelledby="expiry"
                  value={expiry}
                  onChange={(value) => choose(value)}
                  data={EXPIRIES.map((value) => ({
                    value,
                    label: value === 'none' ? 'no end' : value === 'date' ? 'date' : `${value} d`,
                  }))}
                />
              </div>
              {expiry === 'date' && (
                <TextInput
                  type="date"
                  aria-label="Last day"
                  onChange={(event) => setDraft({ ...draft, days: daysUntil(event.currentTarget.value) })}
                />
              )}
            </Group>
          )}
          <ScopeChoice action={action} evidence={evidence} scope={scope} setScope={setScope} />
          {action === 'upgrade_required' && (
            <TextInput label="To version" value={target} onChange={(event) => setTarget(event.currentTarget.value)} />
          )}
          {decide.isError && <Failure error={decide.error} />}
          <Group>
            <Button
              type="submit"
              loading={decide.isPending}
              disabled={!ready}
              color={action === 'reject' ? 'red' : undefined}
              variant={action === 'reject' ? 'outline' : 'filled'}
            >
              {decide.isPending ? 'Publishing…' : approves ? 'Approve' : ACTIONS[action]}
            </Button>
            <Button variant="default" onClick={() => setAction(null)}>
              Cancel
            </Button>
            <Text size="xs" c="dimmed">
              Ctrl Enter
            </Text>
          </Group>
        </Stack>
      </Form>
    </Alert>
  )
}

function effect(
  action: Action,
  { served, distribution, dependants_total: dependants, holding_total: holding }: Evidence,
  { findings }: Scope,
): string {
  const accepted = findings?.length ?? holding
  if (action === 'reject')
    return served
      ? `Clients of ${distribution} lose it with their next update${dependants > 0 ? `, and ${count(dependants, 'package')} need it` : ''}. The same bytes are refused from then on.`
      : 'No client gets it, and the same bytes are refused from then on.'
  if (action === 'upgrade_required') return 'It stays as it is; the decision records that a newer version is needed.'
  return `${served ? 'Clients keep it' : `Clients of ${distribution} get it with their next update`}. ${accepted > 0 ? `${count(accepted, 'finding is', 'findings are')} accepted.` : ''}`
}

function daysUntil(day: string): number | null {
  const days = Math.ceil((Date.parse(`${day}T23:59:59Z`) - Date.now()) / 86_400_000)
  return Number.isFinite(days) && days >= 1 ? days : null
}
