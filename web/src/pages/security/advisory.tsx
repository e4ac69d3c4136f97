// One advisory: what it is, which packages here have it, where they are fixed, and what was decided.
import { Anchor, Group, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { read, type Answered } from '../../api/api.ts'
import { Answer, Empty } from '../../parts/answer.tsx'
import { Foreign } from '../../parts/foreign.tsx'
import { Exploited, SeverityMark, Status, Toned } from '../../parts/marks.tsx'
import { Page, Section } from '../../parts/page.tsx'
import { PastEnd, Pager } from '../../parts/pager.tsx'
import { Rows, type Column } from '../../parts/rows.tsx'
import { VersionLink } from '../../parts/version-link.tsx'
import { When } from '../../parts/when.tsx'
import { ACTIONS, chance, count } from '../../parts/words.ts'

type Advisory = Answered<'GET /security/advisories/{id}'>
type Affected = Advisory['items'][number]

const route = getRouteApi('/advisories/$id')
const FIX_WORDS = { fixed: 'fixed', 'not-fixed': 'no fix yet', 'wont-fix': 'will not be fixed', unknown: 'not known' }

export default function AdvisoryPage() {
  const { id } = route.useParams()
  const { page = 1, size = 50 } = route.useSearch()
  const advisory = useQuery(read('GET /security/advisories/{id}', { params: { id }, query: { page, per_page: size } }))
  return (
    <Page title={id} about="Which packages here have this advisory, and what was decided about it.">
      <Answer of={advisory}>
        {(data) => (
          <>
            {data.severity && <Facts of={data} />}
            <Section title="Packages">
              {data.items.length === 0 && data.total > 0 ? (
                <PastEnd pages={data.pages} />
              ) : data.items.length === 0 ? (
                <Nobody of={data} />
              ) : (
                <>
                  <Summary of={data} />
                  <Rows of={data.items} columns={COLUMNS} label="Packages" id={idOf} />
                  <Pager
                    page={page}
                    pages={data.pages}
                    total={data.total}
                    what={data.total === 1 ? 'package' : 'packages'}
                    size={size}
                  />
                </>
              )}
            </Section>
            {data.decisions && <Decisions of={data.decisions} />}
          </>
        )}
      </Answer>
    </Page>
  )
}

const idOf = ({ advisory, name, version, arch, distribution }: Affected) =>
  [advisory, name, version, arch, distribution].join(' ')

function Facts({
  of: { id, severity, cvss, epss, in_kev: exploited, description, urls, aliases, stands_for },
}: {
  of: Advisory
}) {
  const others = [...stands_for.filter((other) => other !== id), ...aliases.filter((other) => other !== id)]
  return (
    <div style={{ marginBottom: '1.5rem' }}>
      <Group gap="md" mb="xs">
        {severity && <SeverityMark value={severity} />}
        {exploited && <Exploited />}
        {cvss !== null && <span>CVSS {cvss}</span>}
        {epss !== null && <span>EPSS {chance(epss)}</span>}
      </Group>
      {description && (
        <Text maw={720}>
          <Foreign>{description}</Foreign>
        </Text>
      )}
      {others.length > 0 && (
        <Text size="sm" c="dimmed">
          Also {others.join(', ')}
        </Text>
      )}
      {urls.length > 0 && (
        <ul aria-label="More about it">
          {urls.slice(0, 5).map((url) => (
            <li key={url}>
              <Anchor href={url} target="_blank" rel="noreferrer noopener" style={{ overflowWrap: 'anywhere' }}>
                {url}
              </Anchor>
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}

function Summary({
  of: { total, served_total: served, fixed_total: fixed, accepted_total: accepted },
}: {
  of: Advisory
}) {
  return (
    <Group gap="md" mb="sm" role="status">
      <Toned tone={served > 0 ? 'care' : 'good'}>
        {served > 0 ? `${served} of ${total} offered to clients` : `none of ${total} is offered to clients`}
      </Toned>
      <span>{fixed === 0 ? 'no fix is known' : `a fix is known for ${fixed}`}</span>
      <span>{accepted === 0 ? 'none accepted' : `${accepted} accepted by a decision`}</span>
    </Group>
  )
}

function Nobody({ of: { id, packages_scanned: scanned } }: { of: Advisory }) {
  return (
    <Empty title={`No package here has ${id}`}>
      {count(scanned, 'package was', 'packages were')} compared with the advisories of their distribution. Packages that
      could not be scanned say nothing. <Link to="/vulnerabilities">All vulnerabilities</Link>
    </Empty>
  )
}

const COLUMNS: readonly Column<Affected>[] = [
  {
    head: 'Package',
    cell: ({ name, version, arch, distribution }) => (
      <>
        <VersionLink name={name} version={version} />
        <Text size="xs" c="dimmed">
          {distribution}, {arch}
        </Text>
      </>
    ),
  },
  {
    head: 'Status',
    cell: ({ status, served }) => (
      <>
        <Status value={status} />
        {served ? ' offered to clients' : ''}
      </>
    ),
  },
  { head: 'Advisory', cell: ({ advisory }) => advisory },
  { head: 'Severity', cell: ({ severity }) => <SeverityMark value={severity} /> },
  {
    head: 'Fix',
    cell: ({ fix_state: state, fix_versions: versions, fixed_here: here, name }) => (
      <>
        {versions.length > 0 ? `fixed in ${versions.join(', ')}` : FIX_WORDS[state]}
        {here && (
          <div>
            here: <VersionLink name={name} version={here} />
          </div>
        )}
      </>
    ),
  },
  { head: 'Decided', cell: ({ accepted_by_decision: accepted }) => (accepted ? 'accepted' : '') },
  { head: 'Found', cell: ({ first_seen: at }) => <When at={at} /> },
]

function Decisions({ of: decisions }: { of: NonNullable<Advisory['decisions']> }) {
  return (
    <Section title="Decisions">
      {decisions.length === 0 ? (
        <Empty title="Nobody decided about it" />
      ) : (
        <Rows
          of={decisions}
          label="Decisions"
          id={({ id }) => String(id)}
          columns={[
            { head: 'Package', cell: ({ package: name, version }) => <VersionLink name={name} version={version} /> },
            { head: 'Distribution', cell: ({ distribution, arch }) => `${distribution}, ${arch}` },
            { head: 'Decision', cell: ({ action }) => ACTIONS[action] },
            { head: 'Reason', cell: ({ justification }) => justification },
            { head: 'By', cell: ({ decided_by: who }) => who },
            { head: 'Decided', cell: ({ decided_at: at }) => <When at={at} /> },
            {
              head: 'Expires',
              cell: ({ active, expires_at: at }) => (active ? <When at={at} none="no end" /> : 'ended'),
            },
          ]}
        />
      )}
    </Section>
  )
}
