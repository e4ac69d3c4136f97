// Two pictures of a package: its downloads of each day, and the findings of its versions.
import { Grid, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { read } from '../../api/api.ts'
import { Answer } from '../../parts/answer.tsx'
import { Bars, Lanes } from '../../parts/chart.tsx'
import { Findings } from '../../parts/marks.tsx'
import { Section } from '../../parts/page.tsx'
import { utcDay } from '../../parts/when.tsx'
import { SEVERITIES, SEVERITY_COLORS } from '../../parts/words.ts'
import { useMay } from '../../session/session.ts'
import type { Detail, PackageRecord } from '../../parts/record.ts'

export function Charts({ detail, shown }: { detail: Detail; shown: PackageRecord }) {
  const mayAudit = useMay('auditor+')
  const { distribution, arch } = shown
  const records = detail.versions.filter((one) => one.distribution === distribution && one.arch === arch)
  return (
    <Grid gap="xl">
      {records.length > 1 && (
        <Grid.Col span={{ base: 12, md: mayAudit ? 6 : 12 }}>
          <FindingsByVersion records={records} place={`${distribution}, ${arch}`} />
        </Grid.Col>
      )}
      {mayAudit && (
        <Grid.Col span={{ base: 12, md: 6 }}>
          <DownloadsByDay name={detail.name} format={shown.format} />
        </Grid.Col>
      )}
    </Grid>
  )
}

/** Versions that the picture has room for. */
const MOST_VERSIONS = 8

function FindingsByVersion({ records, place }: { records: Detail['versions']; place: string }) {
  return (
    <Section title="Findings by version">
      <Lanes
        title={`${place}, the newest first${records.length > MOST_VERSIONS ? `, ${MOST_VERSIONS} of ${records.length}` : ''}`}
        heads={['Version', 'Findings']}
        lanes={records.slice(0, MOST_VERSIONS).map(({ version, distribution, arch, cve_summary: counts }) => ({
          id: version,
          label: (
            <Link
              to="."
              search={((now: object) => ({ ...now, version, distribution, arch })) as never}
              className="mono"
            >
              {version}
            </Link>
          ),
          parts: SEVERITIES.map((severity) => ({ color: SEVERITY_COLORS[severity], value: counts?.[severity] ?? 0 })),
          text: <Findings counts={counts} scanned={counts?.scanned ?? false} />,
        }))}
      />
    </Section>
  )
}

const DAYS = 30

function DownloadsByDay({ name, format }: { name: string; format: string }) {
  const downloads = useQuery(
    read('GET /downloads/packages/{name}', {
      params: { name },
      query: { days: DAYS, format: format as 'deb', include_clients: false },
    }),
  )
  return (
    <Section title={`Downloads, ${DAYS} days`}>
      <Answer of={downloads} rows={3}>
        {({ downloads: total, per_day: days }) =>
          total === 0 ? (
            <Text size="sm">Nobody downloaded it.</Text>
          ) : (
            <Bars
              title={`Downloads of ${name} on each day, all versions`}
              labels={days.map(({ date }) => utcDay(date))}
              series={[
                {
                  name: 'downloads',
                  color: 'var(--mantine-color-indigo-5)',
                  values: days.map(({ downloads: count }) => count),
                },
              ]}
              height={120}
            />
          )
        }
      </Answer>
    </Section>
  )
}
