// One distribution: how to set up machines, what can be installed, its publications, and its migration to another one.
import { Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { read, type Answered } from '../../api/api.ts'
import { Answer, Empty } from '../../parts/answer.tsx'
import { Bars } from '../../parts/chart.tsx'
import { Toned } from '../../parts/marks.tsx'
import { Page, Section } from '../../parts/page.tsx'
import { Rows } from '../../parts/rows.tsx'
import { Snippet } from '../../parts/snippet.tsx'
import { utcDay, When } from '../../parts/when.tsx'
import { useMay } from '../../session/session.ts'
import { Installability } from './installability.tsx'
import { Migrate } from './migrate.tsx'
import { Readers } from './readers.tsx'
import { OpenReviews } from './waiting.tsx'

const route = getRouteApi('/distributions/$codename')
type Publication = Answered<'GET /distributions/{codename}/publications'>['items'][number]

export default function Distribution() {
  const { codename } = route.useParams()
  const setup = useQuery(read('GET /distributions/{codename}/setup', { params: { codename } }))
  const publications = useQuery(
    read('GET /distributions/{codename}/publications', { params: { codename }, query: { per_page: 200 } }),
  )
  const mayMaintain = useMay('maintainer+')
  const mayAudit = useMay('auditor+')
  return (
    <Page
      title={codename}
      about={setup.data?.full_name}
      actions={
        <>
          <Link to="/packages" search={{ distribution: codename }}>
            Packages
          </Link>
          <Link to="/upload" search={{ distribution: codename }}>
            Upload
          </Link>
          {mayMaintain && <Migrate from={codename} />}
        </>
      }
    >
      <Section title="Set up a machine">
        <Answer of={setup} rows={3}>
          {({ command, file, credentials, private: isPrivate, key_url: key }) => (
            <>
              {isPrivate && (
                <Text size="sm" mb="xs">
                  With the token of the machine in <span className="mono">GATEHOUSE_TOKEN</span>:
                </Text>
              )}
              <Snippet label={`Set up a machine for ${codename}`} text={command} />
              <details>
                <summary>By hand: {file.install_as}</summary>
                <Snippet label={file.install_as} text={file.content} />
                {credentials && <Snippet label={credentials.install_as} text={credentials.content} />}
                <Text size="sm">
                  Signing key: <a href={key}>{key}</a>
                </Text>
              </details>
            </>
          )}
        </Answer>
      </Section>
      {mayAudit && setup.data && <Readers codename={codename} isPrivate={setup.data.private} />}
      <Installability codename={codename} />
      {mayAudit && <OpenReviews codename={codename} />}
      <Section title="Publications">
        <Answer of={publications}>
          {({ items }) =>
            items.length === 0 ? (
              <Empty title="Nothing was published yet" />
            ) : (
              <>
                <PerDay items={items} />
                <Rows
                  of={items.slice(0, 20)}
                  label="Publications"
                  id={({ revision }) => String(revision)}
                  columns={[
                    { head: 'When', cell: ({ published_at: at }) => <When at={at} /> },
                    { head: 'Revision', number: true, cell: ({ revision }) => revision },
                    { head: 'Entered', number: true, cell: ({ added }) => added ?? '' },
                    { head: 'Left', number: true, cell: ({ removed }) => removed ?? '' },
                    { head: 'Why', cell: ({ causes }) => causes.join(', ').replaceAll('_', ' ') || 'published again' },
                    {
                      head: '',
                      cell: ({ live }) => (live ? <Toned tone="good">what clients see</Toned> : null),
                    },
                  ]}
                />
              </>
            )
          }
        </Answer>
      </Section>
    </Page>
  )
}

/** Publications by day, for the days that the list covers. */
function PerDay({ items }: { items: readonly Publication[] }) {
  const days = new Map<string, number>()
  for (const { published_at: at } of items) days.set(at.slice(0, 10), (days.get(at.slice(0, 10)) ?? 0) + 1)
  const labels = [...days.keys()].sort()
  if (labels.length < 2) return null
  return (
    <div style={{ maxWidth: 640, marginBottom: '1rem' }}>
      <Bars
        title="Publications of each day"
        labels={labels.map(utcDay)}
        series={[
          {
            name: 'publications',
            color: 'var(--mantine-color-indigo-5)',
            values: labels.map((day) => days.get(day) ?? 0),
          },
        ]}
        height={110}
      />
    </div>
  )
}
