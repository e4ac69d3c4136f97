// From upstream: search the catalogs and import with dependencies; sources, mirrors, reserved names, jobs, and newer fixes.
import { Loader, Tabs } from '@mantine/core'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { lazy, Suspense } from 'react'
import { Page } from '../../parts/page.tsx'
import { Catalog } from './catalog.tsx'
import { Jobs } from './jobs.tsx'
import { Reservations } from './reservations.tsx'
import { Sources } from './sources.tsx'
import { SecurityUpdates } from './updates.tsx'

const route = getRouteApi('/import')
/** Loaded lazily: half of the page's bytes, which few visits need. */
const Mirrors = lazy(async () => ({ default: (await import('./mirrors.tsx')).Mirrors }))

export default function Import() {
  const { tab = 'search' } = route.useSearch()
  const navigate = useNavigate()
  return (
    <Page title="Import" about="Packages of other repositories pass the same gate as an upload.">
      <Tabs
        value={tab}
        keepMounted={false}
        onChange={(value) =>
          void navigate({ to: '/import', search: { tab: (value === 'search' ? undefined : value) as never } })
        }
      >
        <Tabs.List mb="md">
          <Tabs.Tab value="search">Search and sources</Tabs.Tab>
          <Tabs.Tab value="updates">Security updates</Tabs.Tab>
          <Tabs.Tab value="mirrors">Mirrors</Tabs.Tab>
          <Tabs.Tab value="reserved">Reserved names</Tabs.Tab>
          <Tabs.Tab value="jobs">Jobs</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="search">
          <Catalog />
          <Sources />
        </Tabs.Panel>
        <Tabs.Panel value="updates">
          <SecurityUpdates />
        </Tabs.Panel>
        <Tabs.Panel value="mirrors">
          <Suspense fallback={<Loader aria-label="Loading" />}>
            <Mirrors />
          </Suspense>
        </Tabs.Panel>
        <Tabs.Panel value="reserved">
          <Reservations />
        </Tabs.Panel>
        <Tabs.Panel value="jobs">
          <Jobs />
        </Tabs.Panel>
      </Tabs>
    </Page>
  )
}
