// Long work of the service: what waits, runs and ended, with its log; a task that waits or runs can be cancelled.
import { Button, Drawer } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import { call, readList, type Answered } from '../../api/api.ts'
import { Answer, Empty, Failure } from '../../parts/answer.tsx'
import { ChoiceFilter, Filters } from '../../parts/filters.tsx'
import { Foreign } from '../../parts/foreign.tsx'
import { Toned } from '../../parts/marks.tsx'
import { Page } from '../../parts/page.tsx'
import { PastEnd, Pager } from '../../parts/pager.tsx'
import { Rows, type Column } from '../../parts/rows.tsx'
import { When } from '../../parts/when.tsx'
import { sentence, type Tone } from '../../parts/words.ts'
import { useMay } from '../../session/session.ts'
import { TaskLog } from './task-log.tsx'

type Task = Answered<'GET /tasks'>['items'][number]

const STATES: Record<Task['state'], { word: string; tone: Tone; ended: boolean }> = {
  queued: { word: 'queued', tone: 'unknown', ended: false },
  running: { word: 'running', tone: 'care', ended: false },
  cancelling: { word: 'being cancelled', tone: 'care', ended: false },
  done: { word: 'done', tone: 'good', ended: true },
  failed: { word: 'failed', tone: 'bad', ended: true },
  cancelled: { word: 'cancelled', tone: 'unknown', ended: true },
}
const route = getRouteApi('/tasks')

export default function Tasks() {
  const { page = 1, size = 50, state } = route.useSearch()
  const [open, setOpen] = useState<Task | null>(null)
  const queries = useQueryClient()
  const mayCancel = useMay('maintainer+')
  const list = useQuery({
    ...readList('GET /tasks', { query: { page, per_page: size, ...(state && { state }) } }),
    refetchInterval: 5_000,
  })
  const cancel = useMutation({
    mutationFn: (id: number) => call('POST /tasks/{id}/cancel', { params: { id } }),
    onSettled: () => queries.invalidateQueries({ queryKey: ['GET /tasks'] }),
  })
  const columns: Column<Task>[] = [
    { head: 'Task', cell: ({ kind, key }) => `${sentence(kind)} ${key}` },
    { head: 'State', cell: (task) => <State of={task} /> },
    { head: 'Created', cell: ({ created_at: at }) => <When at={at} /> },
    { head: 'By', cell: ({ created_by: who }) => who },
    { head: 'Started', cell: ({ started_at: at }) => <When at={at} none="" /> },
    { head: 'Ended', cell: ({ finished_at: at }) => <When at={at} none="" /> },
    {
      head: '',
      cell: (task) => (
        <>
          <Button
            size="compact-xs"
            variant="default"
            onClick={() => setOpen(task)}
            aria-label={`Log of ${nameOf(task)}`}
          >
            Log
          </Button>{' '}
          {mayCancel && !STATES[task.state].ended && (
            <Button
              size="compact-xs"
              variant="default"
              disabled={task.state === 'cancelling'}
              onClick={() => cancel.mutate(task.id)}
              aria-label={`Cancel ${nameOf(task)}`}
            >
              Cancel
            </Button>
          )}
        </>
      ),
    },
  ]
  return (
    <Page
      title="Tasks"
      about="Imports, mirrors, backups, scans and other long work. The list is read again every 5 seconds."
    >
      <Filters>
        <ChoiceFilter name="state" label="State" value={state} choices={Object.keys(STATES)} />
      </Filters>
      {cancel.isError && <Failure error={cancel.error} />}
      <Answer of={list} rows={10}>
        {({ items, total, pages }) =>
          items.length === 0 && total > 0 ? (
            <PastEnd pages={pages} />
          ) : items.length === 0 ? (
            <Empty title={state ? `No task is ${STATES[state].word}` : 'No long work was started yet'}>
              {state && <Link to="/tasks">Show all</Link>}
            </Empty>
          ) : (
            <>
              <Rows of={items} label="Tasks" id={({ id }) => String(id)} columns={columns} />
              <Pager page={page} pages={pages} total={total} what={total === 1 ? 'task' : 'tasks'} size={size} />
            </>
          )
        }
      </Answer>
      <Drawer
        opened={open !== null}
        onClose={() => setOpen(null)}
        position="right"
        size="xl"
        title={open && nameOf(open)}
      >
        {open && <TaskLog key={open.id} id={open.id} />}
      </Drawer>
    </Page>
  )
}

const nameOf = ({ id, kind, key }: Task) => `task ${id}: ${kind} ${key}`.trim()

function State({ of: { state, error } }: { of: Task }) {
  const { word, tone } = STATES[state]
  return (
    <>
      <Toned tone={tone}>{word}</Toned>
      {error && (
        <div>
          <Foreign>{error.detail}</Foreign>
        </div>
      )}
    </>
  )
}
