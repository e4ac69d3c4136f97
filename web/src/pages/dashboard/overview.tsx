// What needs attention: the review queue, overdue and expiring items, health; then recent events.
import { Grid, Group, Paper, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { read, type Answered } from '../../api/api.ts'
import { Answer, Empty } from '../../parts/answer.tsx'
import { Bars } from '../../parts/chart.tsx'
import { Findings, Toned } from '../../parts/marks.tsx'
import { Page, Section } from '../../parts/page.tsx'
import { Rows } from '../../parts/rows.tsx'
import { When, utcDay } from '../../parts/when.tsx'
import { bytes, count, SEVERITIES } from '../../parts/words.ts'

export default function Overview() {
  const stats = useQuery(read('GET /dashboard/stats'))
  const summary = useQuery(read('GET /dashboard/summary'))
  const history = useQuery(read('GET /dashboard/history', { query: { days: 30 } }))
  return (
    <Page title="Overview">
      <Answer of={stats} rows={4}>
        {(data) => <Needs stats={data} />}
      </Answer>
      <Grid gap="xl">
        <Grid.Col span={{ base: 12, md: 7 }}>
          <Section title="30 days">
            <Answer of={history} rows={4}>
              {({ history: days }) => (
                <Bars
                  title="Uploads and imports, failures and decisions of each day"
                  labels={days.map(({ date }) => utcDay(date))}
                  series={[
                    {
                      name: 'taken in',
                      color: 'var(--mantine-color-teal-7)',
                      values: days.map(({ imports }) => imports),
                    },
                    {
                      name: 'failed',
                      color: 'var(--mantine-color-red-8)',
                      values: days.map(({ failures }) => failures),
                    },
                    {
                      name: 'decisions',
                      color: 'var(--mantine-color-violet-6)',
                      values: days.map(({ decisions }) => decisions),
                    },
                  ]}
                />
              )}
            </Answer>
          </Section>
        </Grid.Col>
        <Grid.Col span={{ base: 12, md: 5 }}>
          <Section title="Open findings">
            <Answer of={stats} rows={3}>
              {({ security_posture: posture }) => (
                <>
                  <Findings counts={posture} scanned={posture.scanned > 0} />
                  <Text size="sm" c="dimmed" mt="xs">
                    {posture.scanned < posture.total
                      ? `${count(posture.total - posture.scanned, 'package')} of ${posture.total} could not be scanned: nothing is known of them.`
                      : `All ${count(posture.total, 'package')} scanned.`}
                  </Text>
                  {SEVERITIES.some((severity) => posture[severity] > 0) && (
                    <Link to="/vulnerabilities">By vulnerability</Link>
                  )}
                </>
              )}
            </Answer>
          </Section>
        </Grid.Col>
      </Grid>
      <Section title="Latest">
        <Answer of={summary}>{({ recent_activity: entries }) => <Activity entries={entries} />}</Answer>
      </Section>
    </Page>
  )
}

function Needs({ stats }: { stats: Answered<'GET /dashboard/stats'> }) {
  const { security_review: review, packages, alerts, antivirus } = stats
  const figures = [
    { figure: review.pending_review, what: 'wait for a decision', to: '/review' as const },
    { figure: review.overdue, what: 'are overdue', to: '/review' as const },
    { figure: review.expiring_soon_total, what: 'exceptions expire soon', to: '/decisions' as const },
    { figure: packages.total, what: `packages, ${bytes(packages.total_size_bytes)}`, to: '/packages' as const },
  ]
  return (
    <>
      <Grid mb="md">
        {figures.map(({ figure, what, to }) => (
          <Grid.Col span={{ base: 6, md: 3 }} key={what}>
            <Paper
              withBorder
              p="sm"
              component={Link}
              to={to}
              style={{ display: 'block', textDecoration: 'none', color: 'inherit' }}
            >
              <Text fz={26} fw={650} lh={1.1}>
                {new Intl.NumberFormat().format(figure)}
              </Text>
              <Text size="sm" c="dimmed">
                {what}
              </Text>
            </Paper>
          </Grid.Col>
        ))}
      </Grid>
      <Group gap="lg" mb="lg">
        <Toned tone={antivirus.available ? 'good' : 'unknown'}>
          {antivirus.available
            ? `malware scanner ready, data of ${antivirus.db_date ? utcDay(antivirus.db_date) : 'an unknown day'}`
            : 'malware scanner not available: uploads are not scanned for malware'}
        </Toned>
        {packages.deps_missing_count > 0 && (
          <Toned tone="care">{`${count(packages.deps_missing_count, 'package')} with missing dependencies`}</Toned>
        )}
      </Group>
      {alerts.length > 0 && (
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
              { head: 'What', cell: ({ message }) => message },
            ]}
          />
        </Section>
      )}
    </>
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
        { head: 'When', cell: ({ timestamp }) => <When at={timestamp} /> },
        { head: 'Who', cell: ({ user }) => user ?? '' },
        {
          head: 'What',
          cell: ({ action, result }) => (
            <Toned tone={result === 'SUCCESS' ? 'good' : result === 'WARNING' ? 'care' : 'bad'}>
              {action.toLowerCase().replaceAll('_', ' ')}
            </Toned>
          ),
        },
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
