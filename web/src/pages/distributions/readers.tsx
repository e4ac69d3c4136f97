// Who may read a distribution with a package client: everybody, or those with a right.
import { Button, Group, Select, Text, TextInput } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call, read, type Answered } from '../../api/api.ts'
import { Answer, Empty, Failure } from '../../parts/answer.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { Form } from '../../parts/form.tsx'
import { Section } from '../../parts/page.tsx'
import { Rows } from '../../parts/rows.tsx'
import { When } from '../../parts/when.tsx'
import { useMay } from '../../session/session.ts'

type Reader = Answered<'GET /readers'>['readers'][number]

const KINDS = { tag: 'Machines with the tag', machine: 'Machine', person: 'Person', group: 'Group' } as const

export function Readers({ codename, isPrivate }: { codename: string; isPrivate: boolean }) {
  const list = useQuery(read('GET /readers', { query: { place: codename } }))
  const mayChange = useMay('admin')
  const [removed, setRemoved] = useState<Reader | null>(null)
  const [changing, setChanging] = useState(false)
  return (
    <Section title="Who may read it">
      <Group mb="md">
        <Text size="sm">
          {isPrivate
            ? 'Private: package clients must sign in, and need a right. The console and the API follow roles.'
            : 'Public: every package client may read it.'}
        </Text>
        {mayChange && (
          <Button size="compact-sm" variant="default" onClick={() => setChanging(true)}>
            {isPrivate ? 'Make public' : 'Make private'}
          </Button>
        )}
      </Group>
      {(isPrivate || (list.data?.total ?? 0) > 0) && (
        <>
          {mayChange && <Add place={codename} />}
          <Answer of={list}>
            {({ readers }) =>
              readers.length === 0 ? (
                <Empty title="Nobody may read it yet">Give a right to a person, a group or to machines.</Empty>
              ) : (
                <Rows
                  of={readers}
                  label="Rights to read"
                  id={({ id }) => String(id)}
                  columns={[
                    { head: 'Who', cell: ({ kind, name }) => `${KINDS[kind]} ${name}` },
                    {
                      head: 'Since',
                      cell: ({ created_at: at, created_by: who }) => (
                        <>
                          <When at={at} /> by {who}
                        </>
                      ),
                    },
                    {
                      head: '',
                      cell: (reader) =>
                        mayChange ? (
                          <Button
                            size="compact-xs"
                            variant="default"
                            onClick={() => setRemoved(reader)}
                            aria-label={`Remove the right of ${reader.kind} ${reader.name}`}
                          >
                            Remove
                          </Button>
                        ) : null,
                    },
                  ]}
                />
              )
            }
          </Answer>
        </>
      )}
      {removed && (
        <Confirm
          title={`Remove the right of ${removed.name}`}
          action="Remove"
          close={() => setRemoved(null)}
          run={() => call('DELETE /readers/{id}', { params: { id: removed.id } })}
        >
          It ends within ten seconds.
        </Confirm>
      )}
      {changing && (
        <Confirm
          title={isPrivate ? `Make ${codename} public` : `Make ${codename} private`}
          action={isPrivate ? 'Make public' : 'Make private'}
          close={() => setChanging(false)}
          run={() => call('PATCH /distributions/{codename}', { params: { codename }, body: { private: !isPrivate } })}
        >
          {isPrivate
            ? 'Everybody who reaches the repositories may then read its packages.'
            : 'Machines that are set up already get no updates until they sign in and have a right.'}
        </Confirm>
      )}
    </Section>
  )
}

function Add({ place }: { place: string }) {
  const queries = useQueryClient()
  const [kind, setKind] = useState<Reader['kind']>('tag')
  const [name, setName] = useState('')
  const add = useMutation({
    mutationFn: () => call('POST /readers', { body: { place, kind, name: name.trim() } }),
    onSuccess: async () => {
      setName('')
      await queries.invalidateQueries({ queryKey: ['GET /readers'] })
    },
  })
  return (
    <Form
      send={() => {
        if (name.trim() !== '') add.mutate()
      }}
    >
      {add.isError && <Failure error={add.error} />}
      <Group align="flex-end" mb="md" gap="sm">
        <Select
          label="Who"
          w={220}
          allowDeselect={false}
          data={Object.entries(KINDS).map(([value, label]) => ({ value, label }))}
          value={kind}
          onChange={(value) => value && setKind(value as Reader['kind'])}
        />
        <TextInput
          label="Name"
          required
          maxLength={1000}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <Button type="submit" loading={add.isPending} disabled={name.trim() === ''}>
          Let them read
        </Button>
      </Group>
    </Form>
  )
}
