// A run of a mirror: its progress, the results of its packages, and its lines, which name refused packages with the reason.
import { Button, Group, Progress, Text } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { call, client, read, type Answered } from '../../api/api.ts'
import { Failure } from '../../parts/answer.tsx'
import { Foreign } from '../../parts/foreign.tsx'
import { Toned } from '../../parts/marks.tsx'
import { utc, When } from '../../parts/when.tsx'
import { count, type Tone } from '../../parts/words.ts'
import { useMay } from '../../session/session.ts'

export type Job = Answered<'GET /import/mirror/jobs/{id}'>

const STATES: Record<Job['status'], { word: string; tone: Tone }> = {
  running: { word: 'running', tone: 'care' },
  done: { word: 'done', tone: 'good' },
  error: { word: 'failed', tone: 'bad' },
  cancelled: { word: 'cancelled', tone: 'unknown' },
}

/** How a run ended, or its progress. */
export function JobState({ job: { status, cancelling, done_count: done, total } }: { job: Job }) {
  const { word, tone } = STATES[status]
  if (status !== 'running') return <Toned tone={tone}>{word}</Toned>
  return <Toned tone={tone}>{cancelling ? 'being cancelled' : total > 0 ? `${done} of ${total}` : word}</Toned>
}

const STOPS: Record<string, string> = {
  max_packages_per_run: 'the largest number of packages of a run',
  max_runtime_minutes: 'the longest time of a run',
  min_free_disk_gb: 'the disk space that has to stay free',
}

/** @param job as last read; while it runs it is read again each second */
export function Run({ job: last }: { job: Job }) {
  const queries = useQueryClient()
  const mayCancel = useMay('maintainer+')
  const following = useQuery({
    ...read('GET /import/mirror/jobs/{id}', { params: { id: last.job_id } }),
    enabled: last.status === 'running',
    refetchInterval: ({ state }) => (state.data && state.data.status !== 'running' ? false : 1_000),
  })
  const job = last.status === 'running' ? (following.data ?? last) : last
  const ended = job.status !== 'running'
  useEffect(() => {
    if (ended && last.status === 'running')
      for (const list of ['GET /import/mirror/sources', 'GET /import/mirror/sources/{id}', 'GET /import/mirror/jobs'])
        void queries.invalidateQueries({ queryKey: [list] })
  }, [ended, last.status, queries])
  const cancel = useMutation({
    mutationFn: () => call('POST /import/mirror/jobs/{id}/cancel', { params: { id: job.job_id } }),
    onSuccess: () => queries.invalidateQueries(),
  })
  return (
    <section aria-label="Last run" style={{ marginTop: '1rem' }}>
      <Group gap="sm">
        <Text size="sm" fw={600}>
          {ended ? 'Last run' : 'This run'}
        </Text>
        <JobState job={job} />
        <Text size="sm" c="dimmed">
          {ended ? <When at={job.finished_at} none="" /> : <When at={job.started_at} none="waits for its turn" />}
        </Text>
        {!ended && mayCancel && (
          <Button
            size="compact-xs"
            variant="default"
            loading={cancel.isPending}
            disabled={job.cancelling}
            onClick={() => cancel.mutate()}
          >
            Cancel
          </Button>
        )}
      </Group>
      {!ended && job.total > 0 && (
        <Progress
          my="xs"
          value={(100 * job.done_count) / job.total}
          aria-label={`${job.done_count} of ${count(job.total, 'package')}`}
        />
      )}
      {cancel.isError && <Failure error={cancel.error} />}
      {job.message && <Text size="sm">{job.message}</Text>}
      <Text size="sm" role="status">
        {outcomes(job)}
      </Text>
      {job.stopped && (
        <Text size="sm">{`It ended early at ${STOPS[job.stopped] ?? job.stopped}; the next run goes on there.`}</Text>
      )}
      <Lines id={job.job_id} />
    </section>
  )
}

function outcomes(job: Job): string {
  const parts = [
    [job.added, 'published'],
    [job.pending, 'held for review'],
    [job.blocked, 'blocked'],
    [job.refused, 'not fetched because the gate refused them before'],
    [job.skipped, 'here already'],
    [job.error, 'failed'],
    [job.removed, 'deleted because the source withdrew them'],
  ] as const
  const said = parts.filter(([n]) => n > 0).map(([n, word]) => `${n} ${word}`)
  return said.length > 0 ? `${said.join(', ')}.` : job.status === 'running' ? '' : 'Nothing new came.'
}

interface Line {
  index: number
  at: string
  level: string
  message: string
}

/** More lines would make the browser slow. */
const MOST_LINES = 1_000

function Lines({ id }: { id: number }) {
  const [open, setOpen] = useState(false)
  const [lines, setLines] = useState<readonly Line[]>([])
  useEffect(() => {
    if (!open) return
    setLines([])
    const end = new AbortController()
    async function follow() {
      const path = `/import/mirror/jobs/${id}/stream`
      for await (const result of client.events(path, { signal: end.signal, reconnect: false })) {
        const line = result.ok ? (result.data.data as Partial<Line> | null) : null
        if (line?.message !== undefined && line.index !== undefined)
          setLines((now) => [...now, line as Line].slice(-MOST_LINES))
      }
    }
    void follow()
    return () => end.abort()
  }, [open, id])
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <Text size="sm" span>
          What it did, line by line
        </Text>
      </summary>
      <div role="log" aria-label="Lines of the run">
        {lines.map(({ index, at, level, message }) => (
          <Text key={index} size="xs" component="div">
            <span className="mono">{utc(at).replace(' UTC', '')}</span>{' '}
            {level === 'error' || level === 'warn' ? (
              <Toned tone={level === 'error' ? 'bad' : 'care'}>{message}</Toned>
            ) : (
              <Foreign>{message}</Foreign>
            )}
          </Text>
        ))}
      </div>
    </details>
  )
}
