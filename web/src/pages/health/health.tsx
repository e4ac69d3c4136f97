// Health: every probe, what to do about one that fails, and the data of the scanners.
import { Button, Group, Text } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { call, read, type Answered } from '../../api/api.ts'
import { Answer, Failure } from '../../parts/answer.tsx'
import { Toned } from '../../parts/marks.tsx'
import { Page, Section } from '../../parts/page.tsx'
import { Rows } from '../../parts/rows.tsx'
import { distance, When } from '../../parts/when.tsx'
import { useMay } from '../../session/session.ts'
import { FeedAges } from './feeds.tsx'
import { PoolGrowth } from './growth.tsx'
import { adviceOf, factsOf, isGood, nameOf, type Check } from './probes.ts'

export default function Health() {
  const health = useQuery({ ...read('GET /health'), refetchInterval: 30_000 })
  const mayOperate = useMay('maintainer+')
  const mayAudit = useMay('auditor+')
  return (
    <Page
      title="Health"
      about={health.data && `Version ${health.data.version}, running for ${uptime(health.data.uptime_seconds)}`}
    >
      <Answer of={health}>
        {({ status, checks }) => (
          <>
            <Group mb="md">
              <Toned tone={status === 'healthy' ? 'good' : status === 'degraded' ? 'care' : 'bad'}>{status}</Toned>
            </Group>
            <Checks title="Needed to work" checks={checks.critical} failing="bad" />
            <Checks title="Works without" checks={checks.non_critical} failing="care" />
            <Checks title="For information" checks={checks.info} failing="unknown" />
          </>
        )}
      </Answer>
      {mayOperate && <Engines />}
      <PoolGrowth />
      {mayAudit && (
        <Group gap="md">
          <Link to="/drift">Drift</Link>
          <Link to="/logs">Log</Link>
        </Group>
      )}
    </Page>
  )
}

function uptime(seconds: number): string {
  if (seconds < 60) return 'less than a minute'
  return distance(new Date(Date.now() - seconds * 1000).toISOString()).replace(' ago', '')
}

function Checks({
  title,
  checks,
  failing,
}: {
  title: string
  checks: Record<string, Check>
  failing: 'bad' | 'care' | 'unknown'
}) {
  const entries = Object.entries(checks)
  if (entries.length === 0) return null
  return (
    <Section title={title}>
      <Rows
        of={entries}
        label={title}
        id={([name]) => name}
        columns={[
          { head: 'Probe', cell: ([name]) => nameOf(name) },
          {
            head: 'State',
            cell: ([, check]) => {
              const good = isGood(check)
              return good === null ? null : (
                <Toned tone={good ? 'good' : failing}>{good ? 'fine' : (check.status ?? 'fails')}</Toned>
              )
            },
          },
          { head: 'Detail', cell: ([name, check]) => <Detail name={name} check={check} /> },
        ]}
      />
    </Section>
  )
}

function Detail({ name, check }: { name: string; check: Check }) {
  const text = check.detail ?? check.message ?? check.error
  const facts = factsOf(check)
  const advice = isGood(check) === false ? adviceOf(name) : undefined
  return (
    <>
      {text && <Text size="sm">{text}</Text>}
      {facts.length > 0 && (
        <Text size="xs" c="dimmed">
          {facts.join(', ')}
        </Text>
      )}
      {advice && <Text size="sm">{advice}</Text>}
    </>
  )
}

const ENGINES = [
  { name: 'Malware scanner', status: 'GET /security/antivirus/status', update: 'POST /security/antivirus/update' },
  { name: 'Vulnerability data', status: 'GET /security/vulnscan/status', update: 'POST /security/vulnscan/update' },
  {
    name: 'EPSS scores and known-exploited list',
    status: 'GET /security/vulnscan/feeds/status',
    update: 'POST /security/vulnscan/feeds/refresh',
  },
] as const

function Engines() {
  return (
    <Section title="Data of the scanners">
      {ENGINES.map((engine) => (
        <Engine key={engine.name} {...engine} />
      ))}
      <FeedAges />
    </Section>
  )
}

function Engine({ name, status, update }: (typeof ENGINES)[number]) {
  const queries = useQueryClient()
  const mayUpdate = useMay('admin')
  const state = useQuery(read(status))
  const run = useMutation({
    mutationFn: () => call(update),
    onSuccess: () => queries.invalidateQueries({ queryKey: [status] }),
  })
  return (
    <Group mb="sm" align="flex-start" justify="space-between" wrap="nowrap">
      <div>
        <Text fw={600} size="sm">
          {name}
        </Text>
        <Answer of={state} rows={1}>
          {(data: Answered<'GET /security/vulnscan/status'>) => (
            <Text size="sm" component="div">
              <Toned tone={data.available ? 'good' : 'unknown'}>
                {data.available
                  ? `${data.engine ?? ''} ${data.version ?? ''}`.trim() || 'available'
                  : 'not available: nothing is scanned by it'}
              </Toned>
              {data.db_date && (
                <div>
                  Data of <When at={data.db_date} />
                </div>
              )}
            </Text>
          )}
        </Answer>
        {run.isError && <Failure error={run.error} />}
        {run.data && <Text size="sm">{run.data.message}</Text>}
      </div>
      {mayUpdate && (
        <Button
          size="compact-sm"
          variant="default"
          loading={run.isPending}
          onClick={() => run.mutate()}
          aria-label={`Update: ${name}`}
        >
          Update
        </Button>
      )}
    </Group>
  )
}
