// The audit log: who did what, newest first, with all details of an entry.
import { Button, Code, Drawer, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import { readList, type Answered } from '../../api/api.ts'
import { Answer, Empty } from '../../parts/answer.tsx'
import { ExportLinks } from '../../parts/export-links.tsx'
import { ChoiceFilter, Filters, TextFilter, useFilter } from '../../parts/filters.tsx'
import { shown } from '../../parts/foreign.tsx'
import { Event } from '../../parts/marks.tsx'
import { Page } from '../../parts/page.tsx'
import { PastEnd, Pager } from '../../parts/pager.tsx'
import { Rows } from '../../parts/rows.tsx'
import { utc } from '../../parts/when.tsx'

const RESULTS = ['SUCCESS', 'WARNING', 'FAILURE']
const route = getRouteApi('/audit')
type Entry = Answered<'GET /artifacts/audit/logs'>['items'][number]

const ACTIONS = [
  'UPLOAD',
  'IMPORT',
  'DELETE',
  'PROMOTE',
  'MIGRATE',
  'SECURITY_DECISION',
  'QUARANTINE',
  'RESCAN',
  'LOGIN',
  'ACCESS_DENIED',
  'SETTINGS_CHANGE',
  'USER_CREATE',
  'TOKEN_CREATE',
  'BACKUP_CREATE',
  'SYNC',
  'MIRROR',
  'INTEGRITY_ALERT',
]

export default function Audit() {
  const { page = 1, size = 50, ...filters } = route.useSearch()
  const [open, setOpen] = useState<Entry | null>(null)
  const list = useQuery(readList('GET /artifacts/audit/logs', { query: { ...filters, page, per_page: size } }))
  return (
    <Page
      title="Audit"
      about="Times are UTC. The entries are chained and signed."
      actions={<ExportLinks of="GET /artifacts/audit/export" query={filters} />}
    >
      <Filters>
        <TextFilter name="q" label="Text" value={filters.q} />
        <ChoiceFilter name="action" label="Action" value={filters.action} choices={ACTIONS} />
        <ChoiceFilter name="result" label="Result" value={filters.result} choices={RESULTS} />
        <TextFilter name="user" label="User" value={filters.user} />
        <TextFilter name="package" label="Package" value={filters.package} />
        <DayFilter name="from" label="From" value={filters.from} />
        <DayFilter name="to" label="To" value={filters.to} />
      </Filters>
      <Answer of={list} rows={12}>
        {({ items, total, pages }) =>
          items.length === 0 && total > 0 ? (
            <PastEnd pages={pages} />
          ) : items.length === 0 ? (
            <Empty title="No entry matches">
              <Link to="/audit">Show all</Link>
            </Empty>
          ) : (
            <>
              <Rows
                of={items}
                label="Audit entries"
                id={({ seq, timestamp, action }) => `${seq ?? timestamp} ${action}`}
                columns={[
                  {
                    head: 'Time',
                    cell: ({ timestamp }) => <time dateTime={timestamp}>{utc(timestamp).replace(' UTC', '')}</time>,
                  },
                  { head: 'User', cell: ({ user }) => user },
                  { head: 'Action', cell: (entry) => <Event of={entry} /> },
                  {
                    head: 'Package',
                    cell: ({ package: name, version, distribution }) =>
                      name ? `${name} ${version ?? ''} ${distribution ?? ''}` : '',
                  },
                  { head: 'Outcome', cell: ({ outcome, detail }) => detail ?? outcome },
                  {
                    head: '',
                    cell: (entry) => (
                      <Button
                        size="compact-xs"
                        variant="default"
                        onClick={() => setOpen(entry)}
                        aria-label={`Details of entry ${entry.seq ?? entry.timestamp}`}
                      >
                        Details
                      </Button>
                    ),
                  },
                ]}
              />
              <Pager page={page} pages={pages} total={total} what={total === 1 ? 'entry' : 'entries'} size={size} />
            </>
          )
        }
      </Answer>
      <Drawer opened={open !== null} onClose={() => setOpen(null)} position="right" size="lg" title={open?.action}>
        <Code block tabIndex={0} aria-label="The entry as JSON">
          {shown(JSON.stringify(open, null, 2))}
        </Code>
      </Drawer>
    </Page>
  )
}

function DayFilter({ name, label, value }: { name: string; label: string; value: string | undefined }) {
  const filter = useFilter()
  return (
    <TextInput
      type="date"
      size="sm"
      label={label}
      value={value ?? ''}
      onChange={(event) => filter({ [name]: event.currentTarget.value || undefined })}
    />
  )
}
