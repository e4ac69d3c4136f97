// The details of one record, in tabs. The tab, and the page and filter of its list, are in the URL.
import { Tabs } from '@mantine/core'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { Event } from '../../parts/marks.tsx'
import { Rows } from '../../parts/rows.tsx'
import { When } from '../../parts/when.tsx'
import { Decisions } from './decisions.tsx'
import { Downloads } from './downloads.tsx'
import { Dependants } from './dependants.tsx'
import { Dependencies } from './dependencies.tsx'
import { Files } from './files.tsx'
import { FindingsTable } from '../../parts/findings.tsx'
import type { Detail, PackageRecord } from '../../parts/record.ts'
import { useMay } from '../../session/session.ts'
import { saw } from '../../parts/verdicts.tsx'

const route = getRouteApi('/packages/$name')

export function RecordTabs({ record, history }: { record: PackageRecord; history: Detail['history'] }) {
  const { tab = 'findings' } = route.useSearch()
  const navigate = useNavigate()
  const mayAudit = useMay('auditor+')
  // The open state of a tree belongs to its record.
  const id = `${record.name} ${record.version} ${record.distribution} ${record.arch}`
  return (
    <Tabs
      key={id}
      value={tab}
      onChange={(value) =>
        void navigate({
          to: '.',
          search: ((now: object) => ({
            ...now,
            tab: value === 'findings' ? undefined : value,
            q: undefined,
            page: undefined,
          })) as never,
        })
      }
      keepMounted={false}
    >
      <Tabs.List mb="md">
        <Tabs.Tab value="findings">Findings</Tabs.Tab>
        {mayAudit && <Tabs.Tab value="decisions">Decisions</Tabs.Tab>}
        <Tabs.Tab value="dependencies">Dependencies</Tabs.Tab>
        <Tabs.Tab value="dependants">Dependants</Tabs.Tab>
        <Tabs.Tab value="files">Files</Tabs.Tab>
        {mayAudit && <Tabs.Tab value="downloads">Downloads</Tabs.Tab>}
        <Tabs.Tab value="history">History</Tabs.Tab>
      </Tabs.List>
      <Tabs.Panel value="findings">
        <FindingsTable findings={record.cve_results} compared={saw(record.coverage['cve_scan'])} />
      </Tabs.Panel>
      {mayAudit && (
        <Tabs.Panel value="decisions">
          <Decisions record={record} />
        </Tabs.Panel>
      )}
      <Tabs.Panel value="dependencies">
        <Dependencies record={record} />
      </Tabs.Panel>
      <Tabs.Panel value="dependants">
        <Dependants record={record} />
      </Tabs.Panel>
      <Tabs.Panel value="files">
        <Files record={record} />
      </Tabs.Panel>
      {mayAudit && (
        <Tabs.Panel value="downloads">
          <Downloads record={record} />
        </Tabs.Panel>
      )}
      <Tabs.Panel value="history">
        <Rows
          of={history}
          label="History"
          id={({ seq, timestamp, action }) => `${seq ?? timestamp} ${action}`}
          columns={[
            { head: 'Time', cell: ({ timestamp }) => <When at={timestamp} /> },
            { head: 'User', cell: ({ user }) => user },
            { head: 'Action', cell: (entry) => <Event of={entry} /> },
            { head: 'Version', cell: (entry) => `${entry.version ?? ''} ${entry.distribution ?? ''}` },
            { head: 'Outcome', cell: ({ detail: text, outcome }) => text ?? outcome },
          ]}
        />
      </Tabs.Panel>
    </Tabs>
  )
}
