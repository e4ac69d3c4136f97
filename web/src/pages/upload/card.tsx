// One upload: bytes, live steps of the gate, the verdict in words, and what to do next.
import { Button, Group, Paper, Progress, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { Foreign } from '../../parts/foreign.tsx'
import { Toned, Verdict } from '../../parts/marks.tsx'
import { Coverage } from '../../parts/verdicts.tsx'
import { bytes, HELD_REASONS, STEPS, VERDICTS as STEP_VERDICTS, type Tone } from '../../parts/words.ts'
import { useMay } from '../../session/session.ts'
import { again, cancel, type Upload } from './queue.ts'
import type { Outcome, Step, UploadAnswer } from './send.ts'

export function UploadCard({ upload }: { upload: Upload }) {
  const { name, size, distribution, state, sent, steps, outcome, retryAt } = upload
  return (
    <Paper withBorder p="sm" mb="sm" component="article" aria-label={name}>
      <Group justify="space-between" wrap="nowrap">
        <Text size="sm" fw={600} className="mono">
          {name}
        </Text>
        <Text size="sm" c="dimmed">
          {distribution}, {bytes(size)}
        </Text>
      </Group>
      {state !== 'ended' && (
        <Group gap="sm" wrap="nowrap" mt={6}>
          <Progress value={size === 0 ? 100 : (sent / size) * 100} flex={1} aria-label={`Sent of ${name}`} />
          <Text size="sm">{stateWord(upload)}</Text>
          <Button size="compact-xs" variant="subtle" onClick={() => cancel(upload.id)}>
            Cancel
          </Button>
        </Group>
      )}
      {retryAt !== null && <Text size="sm">The service asks to wait; sent again by itself.</Text>}
      {steps.length > 0 && outcome?.kind !== 'answered' && <Steps steps={steps} />}
      {outcome && <Ended outcome={outcome} upload={upload} />}
    </Paper>
  )
}

function stateWord({ state, sent, size, steps }: Upload): string {
  if (state === 'waiting') return 'waiting'
  if (state === 'sending' && sent < size) return `${bytes(sent)} sent`
  return steps.findLast(({ status }) => status === 'running')?.label ?? 'checking'
}

const TONES: Record<Step['status'], Tone> = { running: 'unknown', done: 'good', warn: 'care', error: 'bad' }

function Steps({ steps }: { steps: readonly Step[] }) {
  return (
    <Group gap="md" mt={6}>
      {steps.map(({ name, label, status, message }) => (
        <Toned
          key={name}
          tone={TONES[status]}
        >{`${label}${status === 'running' ? ' …' : ''}${message && status !== 'done' ? `: ${message}` : ''}`}</Toned>
      ))}
    </Group>
  )
}

function Ended({ outcome, upload }: { outcome: Outcome; upload: Upload }) {
  if (outcome.kind === 'cancelled') return <Text size="sm">Cancelled. Nothing was stored.</Text>
  if (outcome.kind === 'answered') return <Answered answer={outcome.answer} />
  const { code, detail, body } = outcome
  if (code === 'already_exists')
    return (
      <Text size="sm">
        These bytes are here already. <PackageLink of={body} />
      </Text>
    )
  if (code === 'duplicate_conflict')
    return (
      <div role="alert">
        <Toned tone="bad">other bytes have this name and version already</Toned>
        <Text size="sm" component="div">
          <Foreign>{detail}</Foreign>
          <dl style={{ margin: '0.3rem 0 0' }}>
            {Object.entries(body)
              .filter(([key]) => /sha256/.test(key))
              .map(([key, value]) => (
                <div key={key}>
                  <dt style={{ display: 'inline' }}>{key.replaceAll('_', ' ')}: </dt>
                  <dd className="mono" style={{ display: 'inline', margin: 0 }}>
                    {String(value)}
                  </dd>
                </div>
              ))}
          </dl>
        </Text>
      </div>
    )
  return (
    <div role="alert">
      <Toned tone="bad">{detail}</Toned>
      <Group gap="sm" mt={4}>
        <Button size="compact-sm" variant="default" onClick={() => again(upload.id)}>
          Send again
        </Button>
        <Text size="xs" c="dimmed" className="mono">
          {code}
        </Text>
      </Group>
    </div>
  )
}

const VERDICTS: Record<UploadAnswer['status'], { tone: Tone; words: string }> = {
  published: { tone: 'good', words: 'Published: clients get it with their next update.' },
  pending_review: { tone: 'care', words: 'Held: a person has to decide.' },
  quarantined: { tone: 'bad', words: 'Quarantined: no client will see it.' },
  rejected: { tone: 'bad', words: 'Rejected: these bytes were rejected before.' },
}

/** A package that clients get without a malware scan is not shown in green. */
function verdictOf({ status, pipeline }: UploadAnswer): { tone: Tone; words: string } {
  const isUnscanned = STEP_VERDICTS[pipeline.antivirus]?.tone === 'unknown'
  if (status === 'published' && isUnscanned)
    return { tone: 'care', words: 'Published without a malware scan: clients get it with their next update.' }
  return VERDICTS[status]
}

function Answered({ answer }: { answer: UploadAnswer }) {
  const { tone, words } = verdictOf(answer)
  const steps = Object.entries(answer.pipeline)
  const mayReview = useMay('auditor+')
  const skipped = steps.filter(([, value]) => value === 'not_run').map(([step]) => (STEPS[step] ?? step).toLowerCase())
  return (
    <div role="status">
      <Toned tone={tone}>{words}</Toned>
      {answer.held_reason && <Text size="sm">Why: {HELD_REASONS[answer.held_reason] ?? answer.held_reason}.</Text>}
      <Group gap="md" my={4}>
        {steps.map(([step, value]) => (value === 'not_run' ? null : <Verdict key={step} value={value} />))}
        {skipped.length > 0 && <Toned tone="unknown">{`not run: ${skipped.join(', ')}`}</Toned>}
      </Group>
      {Object.values(answer.coverage).map((coverage, i) => (coverage ? <Coverage key={i} of={coverage} /> : null))}
      {answer.warnings.map((warning) => (
        <Text size="sm" key={warning}>
          {warning}
        </Text>
      ))}
      <Text size="sm">
        <PackageLink of={{ package: answer.package, version: answer.version }} />
        {answer.status === 'pending_review' && (
          <>
            {' · '}
            {mayReview ? <Link to="/review">Review queue</Link> : <Link to="/uploads">My uploads</Link>}
          </>
        )}
      </Text>
    </div>
  )
}

function PackageLink({ of }: { of: Record<string, unknown> }) {
  const name = of['package'] ?? of['name']
  if (typeof name !== 'string') return null
  const version = typeof of['version'] === 'string' ? of['version'] : undefined
  return (
    <Link to="/packages/$name" params={{ name }} search={version ? { version } : {}}>
      {`${name} ${version ?? ''}`}
    </Link>
  )
}
