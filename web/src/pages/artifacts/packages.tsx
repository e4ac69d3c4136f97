// All packages: one row for each name and format, its latest record first.
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useEffect } from 'react'
import { readList, type Answered } from '../../api/api.ts'
import { clearNews, useNews } from '../../api/live.ts'
import { Foreign } from '../../parts/foreign.tsx'
import { useKeys } from '../../parts/keys.ts'
import { Answer, Empty } from '../../parts/answer.tsx'
import { useCodenames } from '../../parts/distributions.ts'
import { ChoiceFilter, Filters, TextFilter } from '../../parts/filters.tsx'
import { Findings, Status, Toned } from '../../parts/marks.tsx'
import { PackageLink } from '../../parts/list-link.tsx'
import { News } from '../../parts/news.tsx'
import { Page } from '../../parts/page.tsx'
import { PastEnd, Pager } from '../../parts/pager.tsx'
import { Rows, type Column } from '../../parts/rows.tsx'
import { When } from '../../parts/when.tsx'
import { STATUSES } from '../../parts/words.ts'
import { useMay } from '../../session/session.ts'

const route = getRouteApi('/packages')
const STATUS_CHOICES = Object.entries(STATUSES).map(([value, { word }]) => ({ value, label: word }))
const FORMATS = ['deb', 'rpm', 'apk']

type Item = Answered<'GET /artifacts'>['items'][number]

const COLUMNS: readonly Column<Item>[] = [
  {
    head: 'Name',
    sort: 'name',
    cell: ({ name, description }) => (
      <>
        <PackageLink name={name} />
        {description && (
          <div
            style={{
              color: 'var(--mantine-color-dimmed)',
              maxWidth: '36rem',
              overflow: 'hidden',
              textOverflow: 'ellipsis',
              whiteSpace: 'nowrap',
            }}
          >
            <Foreign>{description}</Foreign>
          </div>
        )}
      </>
    ),
  },
  {
    head: 'Latest',
    cell: ({ latest_version: latest, versions }) => (
      <span className="mono">{`${latest}${versions.length > 1 ? ` +${versions.length - 1}` : ''}`}</span>
    ),
  },
  { head: 'Format', cell: ({ format }) => format },
  { head: 'Distributions', cell: ({ distributions }) => distributions.join(', ') },
  {
    head: 'Status',
    cell: ({ status, served }) =>
      status === 'published' && !served ? <Toned tone="care">published, not served</Toned> : <Status value={status} />,
  },
  {
    head: 'Findings',
    cell: ({ cve_summary: summary }) => <Findings counts={summary} scanned={summary?.scanned ?? false} />,
  },
  { head: 'Added', sort: 'imported_at', cell: ({ imported_at: at }) => <When at={at} /> },
]

export default function Packages() {
  const { q, page = 1, size = 50, ...filters } = route.useSearch()
  const list = useQuery(readList('GET /artifacts', { query: { ...filters, search: q, page, per_page: size } }))
  const codenames = useCodenames()
  const mayUpload = useMay('uploader+')
  const news = useNews('GET /artifacts')
  const reload = () => {
    clearNews('GET /artifacts')
    void list.refetch()
  }
  useEffect(() => clearNews('GET /artifacts'), [])
  useKeys({ '.': reload })
  return (
    <Page title="Packages" actions={mayUpload && <Link to="/upload">Upload</Link>}>
      <Filters>
        <TextFilter name="q" label="Name or description, file name, SHA-256" value={q} />
        <ChoiceFilter name="distribution" label="Distribution" value={filters.distribution} choices={codenames} />
        <ChoiceFilter name="status" label="Status" value={filters.status} choices={STATUS_CHOICES} />
        <ChoiceFilter name="format" label="Format" value={filters.format} choices={FORMATS} />
      </Filters>
      <News count={news} show={reload} />
      <Answer of={list}>
        {({ items, total, pages }) =>
          items.length === 0 && total > 0 ? (
            <PastEnd pages={pages} />
          ) : items.length === 0 ? (
            <Empty title={q || Object.keys(filters).length > 0 ? 'No package matches' : 'There are no packages yet'}>
              {q || Object.keys(filters).length > 0 ? (
                <Link to="/packages">Show all</Link>
              ) : (
                <>
                  {mayUpload && <Link to="/upload">Upload the first</Link>}{' '}
                  {mayUpload && <Link to="/import">or import from an upstream</Link>}
                </>
              )}
            </Empty>
          ) : (
            <>
              <Rows
                of={items}
                columns={COLUMNS}
                id={({ name, format }) => `${format} ${name}`}
                label="Packages"
                sort={filters.sort ?? 'name'}
              />
              <Pager page={page} pages={pages} total={total} what={total === 1 ? 'package' : 'packages'} size={size} />
            </>
          )
        }
      </Answer>
    </Page>
  )
}
