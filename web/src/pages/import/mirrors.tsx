// The mirrors of all sources, and one opened mirror: its dry run, its run, its refusals.
import { Button, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import { read } from '../../api/api.ts'
import { Answer, Empty } from '../../parts/answer.tsx'
import { Toned } from '../../parts/marks.tsx'
import { Section } from '../../parts/page.tsx'
import { Rows } from '../../parts/rows.tsx'
import { When } from '../../parts/when.tsx'
import { useMay } from '../../session/session.ts'
import { MirrorForm, type ListedMirror } from './mirror-form.tsx'
import { MirrorPanel } from './mirror-panel.tsx'
import { JobState } from './mirror-run.tsx'
import { DailyRun } from './schedule.tsx'
import { selectionInWords } from './selection-words.ts'

const route = getRouteApi('/import')

export function Mirrors() {
  const { source: open } = route.useSearch()
  const list = useQuery(read('GET /import/mirror/sources'))
  const mayChange = useMay('maintainer+')
  const [adding, setAdding] = useState(false)
  return (
    <>
      <DailyRun />
      <Section
        title="What is mirrored"
        actions={
          mayChange && (
            <Button size="compact-sm" variant="default" onClick={() => setAdding(true)}>
              Mirror a source
            </Button>
          )
        }
      >
        <Answer of={list}>
          {({ sources }) => {
            const mirrors = sources.filter(({ distribution }) => distribution !== null)
            return mirrors.length === 0 ? (
              <Empty title="Nothing is mirrored">
                A mirror brings new packages of a source by itself, through the same gate as an upload.
              </Empty>
            ) : (
              <MirrorRows mirrors={mirrors} open={open} />
            )
          }}
        </Answer>
      </Section>
      {open !== undefined &&
        list.data?.sources.some(({ id, distribution }) => id === open && distribution !== null) && (
          <MirrorPanel key={open} id={open} />
        )}
      {adding && list.data && (
        <MirrorForm
          sources={list.data.sources.filter(({ distribution }) => distribution === null)}
          close={() => setAdding(false)}
        />
      )}
    </>
  )
}

function MirrorRows({ mirrors, open }: { mirrors: readonly ListedMirror[]; open: number | undefined }) {
  return (
    <Rows
      of={mirrors}
      label="Mirrors"
      id={({ id }) => String(id)}
      selected={open === undefined ? undefined : String(open)}
      columns={[
        {
          head: 'Source',
          cell: ({ id, label }) => (
            <Link from="/import" to="/import" search={(now) => ({ ...now, source: id })}>
              {label}
            </Link>
          ),
        },
        { head: 'Into', cell: ({ distribution }) => distribution },
        {
          head: 'Brings',
          cell: ({ selection, names_total: names }) =>
            selection && (
              <Text size="sm" miw={180} maw={420}>
                {selectionInWords(selection, names)}
              </Text>
            ),
        },
        {
          head: 'Daily run',
          cell: ({ enabled }) => <Toned tone={enabled ? 'good' : 'unknown'}>{enabled ? 'included' : 'left out'}</Toned>,
        },
        { head: 'Last run', cell: ({ last_job: job }) => (job ? <JobState job={job} /> : 'never') },
        { head: 'Ended', cell: ({ last_job: job }) => <When at={job?.finished_at} none="" /> },
      ]}
    />
  )
}
