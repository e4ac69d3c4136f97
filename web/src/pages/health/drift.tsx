// Drift: files that differ from what was stored, as the last scan found them; starting a scan, and repair.
import { Button, Group } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import { DRIFT_AREAS } from '../../../../src/domain/drift.ts'
import { call, read, readList, type Answered } from '../../api/api.ts'
import { Answer, Empty, Failure } from '../../parts/answer.tsx'
import { useCodenames } from '../../parts/distributions.ts'
import { ChoiceFilter, Filters } from '../../parts/filters.tsx'
import { Toned } from '../../parts/marks.tsx'
import { Page } from '../../parts/page.tsx'
import { PastEnd, Pager } from '../../parts/pager.tsx'
import { Rows, type Column } from '../../parts/rows.tsx'
import { When } from '../../parts/when.tsx'
import { sentence, type Tone } from '../../parts/words.ts'
import { useMay } from '../../session/session.ts'
import { Repair } from './repair.tsx'

type Found = Answered<'GET /artifacts/admin/drift'>
type Finding = Found['items'][number]

const route = getRouteApi('/drift')
const SCANS = read('GET /tasks', { query: { kind: 'drift_scan', per_page: 1 } })

const STATES: Record<Found['scan']['status'], { text: string; tone: Tone }> = {
  clean: { text: 'Every file is as it was stored', tone: 'good' },
  drift: { text: 'Files differ from what was stored', tone: 'bad' },
  stale: { text: 'The last scan is too old to say anything', tone: 'unknown' },
  unknown: { text: 'Nothing was compared yet', tone: 'unknown' },
}

const COLUMNS: readonly Column<Finding>[] = [
  { head: 'File', cell: ({ subject }) => <span className="mono">{subject}</span> },
  { head: 'Area', cell: ({ area }) => sentence(area) },
  { head: 'Fault', cell: ({ fault }) => sentence(fault) },
  { head: 'Detail', cell: ({ detail }) => detail },
  { head: 'Distribution', cell: ({ distribution }) => distribution },
  { head: 'Since', cell: ({ since }) => <When at={since} /> },
  {
    head: 'Resolved',
    cell: ({ resolved_at: at, resolution }) =>
      at && (
        <>
          {resolution} <When at={at} />
        </>
      ),
  },
]

export default function Drift() {
  const { page = 1, size = 50, ...filters } = route.useSearch()
  const list = useQuery(readList('GET /artifacts/admin/drift', { query: { ...filters, page, per_page: size } }))
  const [repairing, setRepairing] = useState(false)
  const mayRepair = useMay('admin')
  const codenames = useCodenames()
  return (
    <Page
      title="Drift"
      about="Files in the pool and the published trees, compared with what was stored. A scan runs every night."
      actions={
        <>
          <Scan />
          {mayRepair && (
            <Button onClick={() => setRepairing(true)} disabled={list.data?.scan.status !== 'drift'}>
              Repair
            </Button>
          )}
        </>
      }
    >
      <Filters>
        <ChoiceFilter name="state" label="Findings" value={filters.state} choices={['open', 'resolved']} />
        <ChoiceFilter name="area" label="Area" value={filters.area} choices={DRIFT_AREAS} />
        <ChoiceFilter name="distribution" label="Distribution" value={filters.distribution} choices={codenames} />
      </Filters>
      <Answer of={list}>
        {({ items, total, pages, scan }) => (
          <>
            <State of={scan} />
            {items.length === 0 && total > 0 ? (
              <PastEnd pages={pages} />
            ) : items.length === 0 ? (
              <Empty title={filters.state === 'resolved' ? 'No finding is resolved' : 'No finding is open'}>
                {Object.keys(filters).length > 0 && <Link to="/drift">Show all open findings</Link>}
              </Empty>
            ) : (
              <>
                <Rows of={items} label="Findings" id={({ subject }) => subject} columns={COLUMNS} />
                <Pager
                  page={page}
                  pages={pages}
                  total={total}
                  what={total === 1 ? 'finding' : 'findings'}
                  size={size}
                />
              </>
            )}
          </>
        )}
      </Answer>
      {repairing && <Repair close={() => setRepairing(false)} />}
    </Page>
  )
}

function State({ of: { status, last_scan: at } }: { of: Found['scan'] }) {
  const { text, tone } = STATES[status]
  return (
    <Group mb="md" gap="sm" role="status">
      <Toned tone={tone}>{text}</Toned>
      {at && (
        <span>
          Last complete scan: <When at={at} />
        </span>
      )}
    </Group>
  )
}

/** Starts a scan. While one runs, it says so; an event of the task has scans and findings read again. */
function Scan() {
  const queries = useQueryClient()
  const mayScan = useMay('maintainer+')
  const scans = useQuery(SCANS)
  const start = useMutation({
    mutationFn: () => call('POST /artifacts/admin/drift-scan'),
    onSuccess: () => queries.invalidateQueries({ queryKey: SCANS.queryKey }),
  })
  const scanning = scans.data?.items[0]?.finished_at === null
  return (
    <>
      {start.isError && <Failure error={start.error} />}
      {scanning && (
        <span role="status">
          A scan is under way: <Link to="/tasks">its log</Link>
        </span>
      )}
      {mayScan && (
        <Button variant="default" disabled={scanning} loading={start.isPending} onClick={() => start.mutate()}>
          Scan now
        </Button>
      )}
    </>
  )
}
