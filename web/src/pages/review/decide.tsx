// The decision: a reason, what it covers, how long it is valid, and what clients get or lose by it.
import { Alert, Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { call } from '../../api/api.ts'
import { Failure } from '../../parts/answer.tsx'
import { Form } from '../../parts/form.tsx'
import { ACTIONS, count } from '../../parts/words.ts'
import { approves as isApproval, bodyOf, type Draft } from './decision.ts'
import type { Suggested } from './ending.ts'
import { Ends } from './ends.tsx'
import { evidenceOf, type Action, type Evidence } from './item.ts'
import { Reason } from './reasons.tsx'
import { idOf, type RecordId } from './record-id.ts'
import type { Made } from './made.ts'
import { leftOpen, otherFiles, ScopeChoice, WHOLE, type Scope } from './scope.tsx'

/** Identifies a decision about the record while it is being sent. */
export const decidingKey = (record: RecordId) => ['decide', idOf(record)]

interface DecideProps {
  record: RecordId
  evidence: Evidence
  action: Action
  setAction: (action: Action | null) => void
  draft: Draft
  setDraft: (draft: Draft) => void
  /** the end that the form began with */
  suggested: Suggested
  /** @param records the records of the decision, the open one first */
  onDecided: (records: RecordId[], made: Made) => void
}

export function Decide({ record, evidence, action, setAction, draft, setDraft, suggested, onDecided }: DecideProps) {
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
    onMutate: () => Date.now(),
    onSuccess: async ({ decisions }, _, sentAt) => {
      // What was decided, not what was on the screen: a file may have come meanwhile.
      const others = decisions.filter((one) => one.distribution !== distribution || one.arch !== arch)
      const records = [
        record,
        ...others.map((one) => ({ name, version, arch: one.arch, distribution: one.distribution })),
      ]
      const ids = decisions.map(({ id }) => id)
      onDecided(records, {
        ids,
        action,
        what: `${name} ${version}`,
        where: [...new Set(records.map((one) => one.distribution))],
        at: Date.now(),
        seconds: (Date.now() - sentAt) / 1000,
      })
      for (const one of records) await queries.invalidateQueries({ queryKey: evidenceOf(one).queryKey })
    },
    // The typed text stays; somebody may have decided meanwhile.
    onError: () => void queries.invalidateQueries({ queryKey: evidenceOf(record).queryKey }),
  })
  const isWhole = scope.findings === null || leftOpen(evidence.findings, scope.findings).length === 0
  const body = bodyOf(
    { record, action, draft, scope, hasFiles: otherFiles(evidence).length > 0, sha256: evidence.sha256 },
    now,
  )
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
          <Reason
            field={field}
            kind={action === 'reject' ? 'reject' : 'approve'}
            value={draft.reason}
            change={(reason) => setDraft({ ...draft, reason })}
          />
          {approves && (
            <Ends
              ending={draft.ending}
              now={now}
              choose={(ending) => setDraft({ ...draft, ending })}
              suggested={suggested}
            />
          )}
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
