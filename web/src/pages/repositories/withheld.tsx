// What a proxy holds of what clients asked for, and how to ask for a version.
import { Button, Group, Text, TextInput } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import { call, readList, type Answered } from '../../api/api.ts'
import { Answer, Empty, Failure } from '../../parts/answer.tsx'
import { Foreign } from '../../parts/foreign.tsx'
import { Form } from '../../parts/form.tsx'
import { Status } from '../../parts/marks.tsx'
import { Section } from '../../parts/page.tsx'
import { PastEnd, Pager } from '../../parts/pager.tsx'
import { Rows, type Column } from '../../parts/rows.tsx'
import { VersionLink } from '../../parts/version-link.tsx'
import { When } from '../../parts/when.tsx'
import { useMay } from '../../session/session.ts'
import type { Which } from './registries.ts'

type Version = Answered<'GET /registries/{format}/{name}/withheld'>['items'][number]
type Asked = Pick<Version, 'name' | 'version'>

const route = getRouteApi('/repositories/$format/$name')

export function Withheld({ params }: { params: Which }) {
  const { page = 1, size = 50 } = route.useSearch()
  const queries = useQueryClient()
  const mayAsk = useMay('uploader+')
  const list = useQuery(
    readList('GET /registries/{format}/{name}/withheld', { params, query: { page, per_page: size } }),
  )
  const ask = useMutation({
    mutationFn: (body: Asked) => call('POST /registries/{format}/{name}/requests', { params, body }),
    onSuccess: () => queries.invalidateQueries(),
  })
  const columns: Column<Version>[] = [
    {
      head: 'Version',
      cell: ({ name, version, status }) => (
        <div style={{ minWidth: 160 }}>
          {status ? (
            <VersionLink name={name} version={version} />
          ) : (
            <span className="mono">{`${name} ${version}`}</span>
          )}
        </div>
      ),
    },
    { head: 'Why', cell: ({ reasons }) => reasons.map(({ text }) => text).join('; ') },
    { head: 'Until', cell: ({ until: at }) => <When at={at} none="somebody decides" /> },
    {
      head: 'Asked for',
      cell: ({ asked, asked_by: who, asked_at: at }) => (
        <>
          {asked === 1 ? 'once' : `${asked} times`}, last <When at={at} /> by <Foreign>{who}</Foreign>
        </>
      ),
    },
    {
      head: 'State',
      cell: ({ name, version, status }) =>
        status ? (
          <Status value={status} />
        ) : mayAsk ? (
          <Button
            size="compact-xs"
            variant="default"
            loading={ask.isPending && ask.variables.name === name && ask.variables.version === version}
            onClick={() => ask.mutate({ name, version })}
            aria-label={`Ask for ${name} ${version}`}
          >
            Ask for it
          </Button>
        ) : (
          'nobody looks at it'
        ),
    },
  ]
  return (
    <Section title="Withheld">
      {mayAsk && <Ask send={(wanted) => ask.mutate(wanted)} isPending={ask.isPending} />}
      {ask.isError && <Failure error={ask.error} />}
      {ask.data && (
        <Text size="sm" mb="md" role="status">
          <VersionLink name={ask.data.name} version={ask.data.version} /> is here, and was judged.
        </Text>
      )}
      <Answer of={list} rows={3}>
        {({ items, total, pages }) =>
          items.length === 0 && total > 0 ? (
            <PastEnd pages={pages} />
          ) : items.length === 0 ? (
            <Empty title="Nothing is withheld">Versions that clients ask for and that the rules hold are here.</Empty>
          ) : (
            <>
              <Rows of={items} label="Withheld" id={({ name, version }) => `${name} ${version}`} columns={columns} />
              <Pager page={page} pages={pages} total={total} what={total === 1 ? 'version' : 'versions'} size={size} />
            </>
          )
        }
      </Answer>
    </Section>
  )
}

function Ask({ send, isPending }: { send: (wanted: Asked) => void; isPending: boolean }) {
  const [name, setName] = useState('')
  const [version, setVersion] = useState('')
  const wanted = { name: name.trim(), version: version.trim() }
  const isComplete = wanted.name !== '' && wanted.version !== ''
  return (
    <Form send={() => isComplete && send(wanted)}>
      <Text size="sm" mb="xs" maw={760}>
        Ask for a version that is held: it is fetched and judged, and waits in the review. Clients get it once somebody
        approves it.
      </Text>
      <Group align="flex-end" mb="md" gap="sm">
        <TextInput
          label="Name"
          required
          maxLength={214}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <TextInput
          label="Version"
          required
          maxLength={256}
          value={version}
          onChange={(event) => setVersion(event.currentTarget.value)}
        />
        <Button type="submit" loading={isPending} disabled={!isComplete}>
          Ask for it
        </Button>
      </Group>
    </Form>
  )
}
