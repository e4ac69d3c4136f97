// The decision: a reason, what it covers, how long it is valid, and what clients get or lose by it.
import { Alert, Button, Group, SegmentedControl, Stack, Text, Textarea, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { call } from '../../api/api.ts'
import { Failure } from '../../parts/answer.tsx'
import { Form } from '../../parts/form.tsx'
import { ACTIONS, count } from '../../parts/words.ts'
import { approves as isApproval, bodyOf, type Draft } from './decision.ts'
import { CHOICES, firstDay, wrongEnding, type Ending } from './ending.ts'
import { evidenceOf, type Action, type Evidence } from './item.ts'
import { idOf, type RecordId } from './record-id.ts'
import { heldElsewhere, leftOpen, ScopeChoice, WHOLE, type Scope } from './scope.tsx'

/** Identifies a decision about the record while it is being sent. */
export const decidingKey = (record: RecordId) => ['decide', idOf(record)]

interface DecideProps {
  record: RecordId
  evidence: Evidence
  action: Action
  setAction: (action: Action | null) => void
  draft: Draft
  setDraft: (draft: Draft) => void
  /** @param records the records of the decision, the open one first */
  onDecided: (records: RecordId[]) => void
}

export function Decide({ record, evidence, action, setAction, draft, setDraft, onDecided }: DecideProps) {
  const { name, version, distribution, arch } = record
  const now = Date.now()
  const queries = useQueryClient()
  const field = useRef<HTMLTextAreaElement>(null)
  const [scope, setScope] = useState<Scope>(WHOLE)
  const approves = isApproval(action)
  useEffect(() => field.current?.focus(), [action])

  const decide = useMutation({
    mutationKey: decidingKey(record),
    mutationFn: (body: NonNullable<ReturnType<typeof bodyOf>>) =>
      call('POST /security/packages/{name}/{version}/decide', { params: { name, version }, query: {}, body }),
    onSuccess: async () => {
      const others = scope.elsewhere ? heldElsewhere(evidence) : []
      const records = [distribution, ...others].map((one) => ({ name, version, arch, distribution: one }))
      onDecided(records)
      for (const one of records) await queries.invalidateQueries({ queryKey: evidenceOf(one).queryKey })
    },
    // The typed text stays; somebody may have decided meanwhile.
    onError: () => void queries.invalidateQueries({ queryKey: evidenceOf(record).queryKey }),
  })
  const isWhole = scope.findings === null || leftOpen(evidence.findings, scope.findings).length === 0
  const body = bodyOf({ record, action, draft, scope, sha256: evidence.sha256 }, now)
  const ready = draft.reason.trim() !== '' && scope.findings?.length !== 0 && (isWhole || !approves) && body !== null
  const send = () => ready && !decide.isPending && decide.mutate(body)

  return (
    <Alert
      role="group"
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
          {approves && <Ends ending={draft.ending} now={now} choose={(ending) => setDraft({ ...draft, ending })} />}
          <ScopeChoice action={action} evidence={evidence} scope={scope} setScope={setScope} />
          {action === 'upgrade_required' && (
            <TextInput
              label="To version"
              value={draft.target}
              onChange={(event) => setDraft({ ...draft, target: event.currentTarget.value })}
            />
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

interface EndsProps {
  ending: Ending
  now: number
  choose: (ending: Ending) => void
}

/** How long an approval is valid. */
function Ends({ ending, now, choose }: EndsProps) {
  const wrong = wrongEnding(ending, now)
  return (
    <Group align="flex-end">
      <div style={{ maxWidth: '100%', overflowX: 'auto' }}>
        <Text size="sm" fw={500} id="expiry">
          Ends
        </Text>
        <SegmentedControl
          aria-labelledby="expiry"
          value={ending.choice}
          onChange={(choice) => choose({ ...ending, choice })}
          data={CHOICES.map((value) => ({
            value,
            label: value === 'none' ? 'no end' : value === 'date' ? 'date' : `${value} d`,
          }))}
        />
      </div>
      {ending.choice === 'date' && (
        <TextInput
          type="date"
          label="Last day"
          required
          min={firstDay(now)}
          value={ending.day}
          onChange={(event) => choose({ ...ending, day: event.currentTarget.value })}
          // Red is only for typed input; an empty field just says what is missing.
          description={ending.day === '' ? wrong : undefined}
          error={ending.day === '' ? undefined : wrong}
        />
      )}
    </Group>
  )
}
