// What needs attention first, the figures with their trend, then recent events.
import { Button, Grid, Paper, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link, type LinkProps } from '@tanstack/react-router'
import { ArrowRight } from 'lucide-react'
import { mayAccess } from '../../../../src/domain/roles.ts'
import { read, type Answered } from '../../api/api.ts'
import { Answer, Empty } from '../../parts/answer.tsx'
import { Bars } from '../../parts/chart.tsx'
import { Event, Findings, Toned } from '../../parts/marks.tsx'
import { Page, Section } from '../../parts/page.tsx'
import { Rows } from '../../parts/rows.tsx'
import { Sparkline } from '../../parts/sparkline.tsx'
import { When, utcDay } from '../../parts/when.tsx'
import { amount, bytes, count, SEVERITIES } from '../../parts/words.ts'
import { useMay, useSession } from '../../session/session.ts'
import { Checklist } from './checklist.tsx'
import { headlineOf } from './headline.ts'

type Stats = Answered<'GET /dashboard/stats'>
type Day = Answered<'GET /dashboard/history'>['history'][number]

export default function Overview() {
  const stats = useQuery(read('GET /dashboard/stats'))
  const summary = useQuery(read('GET /dashboard/summary'))
  const history = useQuery(read('GET /dashboard/history', { query: { days: 30 } }))
  const isAdmin = useMay('admin')
  return (
    <Page title="Overview">
      <Answer of={stats} rows={4}>
        {(data) => (
          <>
            <First stats={data} />
            {isAdmin && <Checklist stats={data} />}
            <Figures stats={data} days={history.data?.history ?? []} />
          </>
        )}
      </Answer>
      <Grid gap="xl">
        <Grid.Col span={{ base: 12, md: 7 }}>
          <Section title="Last 30 days">
            <Answer of={history} rows={4}>
              {({ history: days }) => <Month days={days} />}
            </Answer>
          </Section>
        </Grid.Col>
        <Grid.Col span={{ base: 12, md: 5 }}>
          <Section title="Open findings">
            <Answer of={stats} rows={3}>
              {(data) => <Posture stats={data} />}
            </Answer>
            <Answer of={history} rows={4}>
              {({ history: days }) => <FindingsOverTime days={days} />}
            </Answer>
          </Section>
        </Grid.Col>
      </Grid>
      <Answer of={stats} rows={0}>
        {({ alerts }) => <Alerts alerts={alerts} />}
      </Answer>
      <Section title="Latest events">
        <Answer of={summary}>{({ recent_activity: entries }) => <Activity entries={entries} />}</Answer>
      </Section>
    </Page>
  )
}

function First({ stats }: { stats: Stats }) {
  const role = useSession()?.user?.role
  if (!role) return null
  const { tone, figure, text, step, to } = headlineOf(stats, (access) => mayAccess(role, access))
  return (
    <Paper withBorder className="first" data-tone={tone} component="section" aria-label="What to do next">
      <p>
        {figure !== null && <strong>{amount(figure)}</strong>}
        <span>{text}</span>
      </p>
      <Button
        component={Link}
        to={to}
        variant={tone === 'good' ? 'default' : 'filled'}
        rightSection={<ArrowRight size={16} aria-hidden />}
      >
        {step}
      </Button>
    </Paper>
  )
}

function Figures({ stats, days }: { stats: Stats; days: readonly Day[] }) {
  const { security_review: review, packages, antivirus } = stats
  const week = days.slice(-7).reduce((sum, { imports }) => sum + imports, 0)
  return (
    <Grid mb="lg">
      <Figure
        title="Waiting for review"
        to="/review"
        figure={review.pending_review}
        about={`${review.overdue} overdue`}
      />
      <Figure
        title="Exceptions that expire soon"
        to="/decisions"
        figure={review.expiring_soon_total}
        about={`of ${count(review.accepted_risk + review.exception, 'approval')} in force`}
      />
      <Figure
        title="Packages"
        to="/packages"
        figure={packages.total}
        about={bytes(packages.total_size_bytes)}
        trend={days.map(({ pool_packages: n }) => n)}
      />
      <Figure
        title="Added in 7 days"
        to="/packages"
        figure={week}
        about={`${packages.imports_today} today`}
        trend={days.map(({ imports }) => imports)}
      />
      <Grid.Col span={12}>
        <div className="facts">
          {antivirus.available ? (
            <Toned tone="good">{`Malware scanner ready, data of ${antivirus.db_date ? utcDay(antivirus.db_date) : 'an unknown day'}`}</Toned>
          ) : (
            <Toned tone="bad">Malware scanner not available</Toned>
          )}
          {packages.deps_missing_count > 0 && (
            <Toned tone="care">{`${count(packages.deps_missing_count, 'package')} with missing dependencies`}</Toned>
          )}
        </div>
      </Grid.Col>
    </Grid>
  )
}

interface FigureProps {
  title: string
  to: LinkProps['to']
  figure: number
  about: string
  /** of the last 30 days */
  trend?: readonly (number | null)[]
}

function Figure({ title, to, figure, about, trend }: FigureProps) {
  return (
    <Grid.Col span={{ base: 6, md: 3 }}>
      <Paper withBorder component={Link} to={to} className="figure">
        <small>{title}</small>
        <strong>{amount(figure)}</strong>
        <small>{about}</small>
        {trend && <Sparkline values={trend} label={`${title}: trend of 30 days`} />}
      </Paper>
    </Grid.Col>
  )
}

function Month({ days }: { days: readonly Day[] }) {
  return (
    <Bars
      title="Packages added, failures and decisions of each day"
      labels={days.map(({ date }) => utcDay(date))}
      series={[
        { name: 'added', color: 'var(--gh-good)', values: days.map(({ imports }) => imports) },
        { name: 'failed', color: 'var(--gh-bad)', values: days.map(({ failures }) => failures) },
        { name: 'decisions', color: 'var(--gh-review)', values: days.map(({ decisions }) => decisions) },
      ]}
    />
  )
}

/** Nothing before two days were counted: one bar is no trend. */
function FindingsOverTime({ days }: { days: readonly Day[] }) {
  if (days.filter(({ findings }) => findings !== null).length < 2) return null
  const sums = (...severities: (typeof SEVERITIES)[number][]) =>
    days.map(({ findings }) => findings && severities.reduce((sum, severity) => sum + findings[severity], 0))
  return (
    <Bars
      title="Findings at the end of each day"
      labels={days.map(({ date }) => utcDay(date))}
      series={[
        { name: 'critical and high', color: 'var(--gh-bad)', values: sums('critical', 'high') },
        { name: 'medium', color: 'var(--gh-care)', values: sums('medium') },
        {
          name: 'lower and unknown',
          color: 'var(--mantine-color-gray-5)',
          values: sums('low', 'negligible', 'unknown'),
        },
      ]}
    />
  )
}

function Posture({ stats: { security_posture: posture } }: { stats: Stats }) {
  return (
    <>
      <Findings counts={posture} scanned={posture.scanned > 0} />
      <Text size="sm" c="dimmed" mt="xs">
        {posture.scanned < posture.total
          ? `${count(posture.total - posture.scanned, 'package')} of ${posture.total} could not be scanned, so its findings are unknown.`
          : `All ${count(posture.total, 'package')} scanned.`}
      </Text>
      {SEVERITIES.some((severity) => posture[severity] > 0) && <Link to="/vulnerabilities">By vulnerability</Link>}
    </>
  )
}

function Alerts({ alerts }: { alerts: Stats['alerts'] }) {
  if (alerts.length === 0) return null
  return (
    <Section title="Alerts">
      <Rows
        of={alerts.slice(0, 8)}
        label="Alerts"
        id={({ type, package: name, version, distribution, arch }) =>
          `${type} ${name} ${version} ${distribution} ${arch}`
        }
        columns={[
          {
            head: 'Package',
            cell: ({ package: name, version }) => (
              <Link to="/packages/$name" params={{ name }} search={{ version }}>{`${name} ${version}`}</Link>
            ),
          },
          { head: 'Distribution', cell: ({ distribution }) => distribution },
          { head: 'Message', cell: ({ message }) => message },
        ]}
      />
    </Section>
  )
}

function Activity({ entries }: { entries: Answered<'GET /dashboard/summary'>['recent_activity'] }) {
  if (entries.length === 0)
    return (
      <Empty title="Nothing happened yet">
        <Link to="/upload">Upload a package</Link> or <Link to="/import">import one</Link>.
      </Empty>
    )
  return (
    <Rows
      of={entries}
      label="Latest events"
      id={({ seq, timestamp }) => `${seq ?? timestamp}`}
      columns={[
        { head: 'Time', cell: ({ timestamp }) => <When at={timestamp} /> },
        { head: 'User', cell: ({ user }) => user ?? '' },
        { head: 'Action', cell: (entry) => <Event of={entry} /> },
        {
          head: 'Package',
          cell: ({ package: name, version, distribution }) =>
            name ? (
              <>
                <Link
                  to="/packages/$name"
                  params={{ name }}
                  search={version ? { version } : {}}
                >{`${name} ${version ?? ''}`}</Link>{' '}
                {distribution}
              </>
            ) : null,
        },
        { head: 'Outcome', cell: ({ outcome, detail }) => detail ?? outcome },
      ]}
    />
  )
}
