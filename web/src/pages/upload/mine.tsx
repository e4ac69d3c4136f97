// What the person brought in, with its state, and why clients do not get it.
import { Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { readList, type Answered } from '../../api/api.ts'
import { Answer, Empty } from '../../parts/answer.tsx'
import { useCodenames } from '../../parts/distributions.ts'
import { ChoiceFilter, Filters } from '../../parts/filters.tsx'
import { Foreign } from '../../parts/foreign.tsx'
import { Status } from '../../parts/marks.tsx'
import { Page } from '../../parts/page.tsx'
import { PastEnd, Pager } from '../../parts/pager.tsx'
import { Rows, type Column } from '../../parts/rows.tsx'
import { VersionLink } from '../../parts/version-link.tsx'
import { When } from '../../parts/when.tsx'
import { ACTIONS, count, HELD_REASONS, STATUSES, STEPS } from '../../parts/words.ts'

type Own = Answered<'GET /upload/mine'>['items'][number]

const route = getRouteApi('/uploads')
const STATUS_CHOICES = Object.entries(STATUSES).map(([value, { word }]) => ({ value, label: word }))

const COLUMNS: readonly Column<Own>[] = [
  {
    head: 'Package',
    cell: ({ name, version, filename }) => (
      <>
        <VersionLink name={name} version={version} />
        <Text size="xs" c="dimmed" className="mono">
          {filename}
        </Text>
      </>
    ),
  },
  { head: 'Distribution', cell: ({ distribution, arch }) => `${distribution}, ${arch}` },
  { head: 'Status', cell: ({ status }) => <Status value={status} /> },
  { head: 'Why', cell: (own) => <Why of={own} /> },
  { head: 'By', cell: ({ imported_by: who, import_method: how }) => `${how}, ${who}` },
  { head: 'Added', cell: ({ imported_at: at }) => <When at={at} /> },
]

export default function OwnUploads() {
  const { page = 1, size = 50, ...filters } = route.useSearch()
  const list = useQuery(readList('GET /upload/mine', { query: { ...filters, page, per_page: size } }))
  const codenames = useCodenames()
  return (
    <Page
      title="My uploads"
      about="What you and your API tokens brought in, the newest first."
      actions={<Link to="/upload">Upload</Link>}
    >
      <Filters>
        <ChoiceFilter name="status" label="Status" value={filters.status} choices={STATUS_CHOICES} />
        <ChoiceFilter name="distribution" label="Distribution" value={filters.distribution} choices={codenames} />
      </Filters>
      <Answer of={list}>
        {({ items, total, pages }) =>
          items.length === 0 && total > 0 ? (
            <PastEnd pages={pages} />
          ) : items.length === 0 ? (
            <Empty title={Object.keys(filters).length > 0 ? 'Nothing matches' : 'You brought nothing in yet'}>
              {Object.keys(filters).length > 0 ? (
                <Link to="/uploads">Show all</Link>
              ) : (
                <Link to="/upload">Upload a package</Link>
              )}
            </Empty>
          ) : (
            <>
              <Rows
                of={items}
                columns={COLUMNS}
                label="My uploads"
                id={({ name, version, arch, distribution }) => `${name} ${version} ${arch} ${distribution}`}
              />
              <Pager page={page} pages={pages} total={total} what={total === 1 ? 'upload' : 'uploads'} size={size} />
            </>
          )
        }
      </Answer>
    </Page>
  )
}

/** The decision of a person says most; without one, what holds it or what it did not pass. */
function Why({ of: { status, served, held_reason: held, problems, decision, cve_summary: findings } }: { of: Own }) {
  const failed = problems.map(({ step, message }) => `${STEPS[step] ?? step}: ${message}`)
  const exploitable = findings ? findings.critical + findings.high : 0
  return (
    <>
      {decision && (
        <div>
          {ACTIONS[decision.action]} by {decision.decided_by}: <Foreign>{decision.justification}</Foreign>
          {decision.target_version && ` Upload ${decision.target_version}.`}
        </div>
      )}
      {held && <div>Held because {HELD_REASONS[held] ?? held}.</div>}
      {failed.map((text) => (
        <div key={text}>{text}</div>
      ))}
      {status !== 'published' && exploitable > 0 && <div>{count(exploitable, 'critical or high finding')}</div>}
      {status === 'published' && !served && <div>Not served to clients.</div>}
    </>
  )
}
