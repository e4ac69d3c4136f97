// Machines that sign in to read packages, and the tokens that enrol them.
import { Button, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import { call, readList, type Answered } from '../../api/api.ts'
import { Answer, Empty } from '../../parts/answer.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { ChoiceFilter, Filters, TextFilter } from '../../parts/filters.tsx'
import { Page } from '../../parts/page.tsx'
import { PastEnd, Pager } from '../../parts/pager.tsx'
import { Rows, type Column } from '../../parts/rows.tsx'
import { When } from '../../parts/when.tsx'
import { useMay } from '../../session/session.ts'
import { Enrolments } from './enrolments.tsx'
import { NewMachine } from './new-machine.tsx'

type Machine = Answered<'GET /machines'>['items'][number]

const route = getRouteApi('/machines')
const STATES = ['revoked'] as const

export default function Machines() {
  const { page = 1, size = 50, q, tag, state = 'live' } = route.useSearch()
  const mayChange = useMay('admin')
  const [creating, setCreating] = useState(false)
  const [revoking, setRevoking] = useState<Machine | null>(null)
  const list = useQuery(
    readList('GET /machines', { query: { page, per_page: size, state, ...(q && { q }), ...(tag && { tag }) } }),
  )
  const columns: Column<Machine>[] = [
    {
      head: 'Name',
      cell: ({ name, token_hint: hint }) => (
        <>
          {name}{' '}
          <Text span size="xs" c="dimmed" className="mono">
            …{hint}
          </Text>
        </>
      ),
    },
    { head: 'Tags', cell: ({ tags }) => tags.join(', ') },
    { head: 'Last seen', cell: ({ last_seen: at }) => <When at={at} none="never" /> },
    {
      head: 'Created',
      cell: ({ created_by: who, created_at: at }) => (
        <>
          <When at={at} /> by {who}
        </>
      ),
    },
    { head: 'Revoked', cell: ({ revoked_at: at }) => <When at={at} none="" /> },
    {
      head: '',
      cell: (machine) =>
        mayChange && machine.revoked_at === null ? (
          <Button
            size="compact-xs"
            variant="default"
            onClick={() => setRevoking(machine)}
            aria-label={`Revoke ${machine.name}`}
          >
            Revoke
          </Button>
        ) : null,
    },
  ]
  return (
    <Page
      title="Machines"
      about="Each signs in with a token of its own, to read private distributions and to be named by downloads."
      actions={mayChange && <Button onClick={() => setCreating(true)}>New machine</Button>}
    >
      <Filters>
        <TextFilter name="q" label="Name" value={q} />
        <TextFilter name="tag" label="Tag" value={tag} />
        <ChoiceFilter name="state" label="State" value={state === 'live' ? undefined : state} choices={STATES} />
      </Filters>
      <Answer of={list}>
        {({ items, total, pages }) =>
          items.length === 0 && total > 0 ? (
            <PastEnd pages={pages} />
          ) : items.length === 0 ? (
            <Empty title={q || tag || state !== 'live' ? 'No such machine' : 'No machines yet'}>
              A machine gets a token here, or with the token of an enrolment.
            </Empty>
          ) : (
            <>
              <Rows of={items} label="Machines" id={({ id }) => String(id)} columns={columns} />
              <Pager page={page} pages={pages} total={total} what={total === 1 ? 'machine' : 'machines'} size={size} />
            </>
          )
        }
      </Answer>
      <Enrolments mayChange={mayChange} />
      {creating && <NewMachine close={() => setCreating(false)} />}
      {revoking && (
        <Confirm
          title={`Revoke ${revoking.name}`}
          action="Revoke"
          close={() => setRevoking(null)}
          run={() => call('DELETE /machines/{id}', { params: { id: revoking.id } })}
        >
          Its token ends within ten seconds, and it reads no private distribution any more.
        </Confirm>
      )}
    </Page>
  )
}
