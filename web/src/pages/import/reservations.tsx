// Reserved names: names that only uploads, or one source, may bring, so that nobody outside can replace a package of ours.
import { Button, Code, Group, Select, Text, TextInput } from '@mantine/core'
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

type Reservation = Answered<'GET /import/reservations'>['reservations'][number]

export function Reservations() {
  const list = useQuery(read('GET /import/reservations'))
  const sources = useQuery(read('GET /import/sources'))
  const mayChange = useMay('maintainer+')
  const [removed, setRemoved] = useState<Reservation | null>(null)
  const names = new Map(sources.data?.sources.map(({ id, name }) => [id, name]))
  const wayOf = ({ source_id: id }: Reservation) =>
    id === null ? 'uploads only' : `the source ${names.get(id) ?? `${id}, which was deleted: nobody may`}`
  return (
    <Section title="Reserved names">
      <Text size="sm" mb="md" maw={760}>
        Reserve the names of your own packages for uploads. A package of that name, or one that provides or replaces it,
        is then refused when an import or a mirror brings it, even with a higher version. A name can also be reserved
        for one source. What is here already stays. Of several reservations the most specific one decides.
      </Text>
      {mayChange && <Reserve sources={sources.data?.sources ?? []} />}
      <Answer of={list}>
        {({ reservations }) =>
          reservations.length === 0 ? (
            <Empty title="No name is reserved">Uploads, imports and mirrors may bring any name.</Empty>
          ) : (
            <Rows
              of={reservations}
              label="Reserved names"
              id={({ id }) => String(id)}
              columns={[
                { head: 'Name', cell: ({ pattern }) => <span className="mono">{pattern}</span> },
                { head: 'Formats', cell: ({ format }) => format ?? 'all' },
                { head: 'May come by', cell: wayOf },
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
                  cell: (reservation) =>
                    mayChange ? (
                      <Button
                        size="compact-xs"
                        variant="default"
                        onClick={() => setRemoved(reservation)}
                        aria-label={`Remove the reservation of ${reservation.pattern}`}
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
      {removed && (
        <Confirm
          title={`Remove the reservation of ${removed.pattern}`}
          action="Remove"
          close={() => setRemoved(null)}
          run={() => call('DELETE /import/reservations/{id}', { params: { id: removed.id } })}
        >
          Uploads, imports and mirrors may bring packages of this name again, unless another reservation has it.
        </Confirm>
      )}
    </Section>
  )
}

const UPLOADS = 'uploads'

function Reserve({ sources }: { sources: Answered<'GET /import/sources'>['sources'] }) {
  const queries = useQueryClient()
  const [pattern, setPattern] = useState('')
  const [format, setFormat] = useState<string | null>(null)
  const [way, setWay] = useState(UPLOADS)
  const reserve = useMutation({
    mutationFn: () =>
      call('POST /import/reservations', {
        body: {
          pattern: pattern.trim(),
          format: format as 'deb' | null,
          source_id: way === UPLOADS ? null : Number(way),
        },
      }),
    onSuccess: async () => {
      setPattern('')
      await queries.invalidateQueries({ queryKey: ['GET /import/reservations'] })
    },
  })
  return (
    <Form
      send={() => {
        if (pattern.trim() !== '') reserve.mutate()
      }}
    >
      {reserve.isError && <Failure error={reserve.error} />}
      <Group align="flex-end" mb="md" gap="sm">
        <TextInput
          label="Name or pattern"
          description={
            <>
              <Code>*</Code> is any text, <Code>?</Code> one character.
            </>
          }
          required
          maxLength={200}
          value={pattern}
          onChange={(event) => setPattern(event.currentTarget.value)}
        />
        <Select
          label="Format"
          placeholder="all"
          w={110}
          clearable
          data={['deb', 'rpm', 'apk']}
          value={format}
          onChange={setFormat}
        />
        <Select
          label="May come by"
          w={260}
          searchable
          allowDeselect={false}
          data={[
            { value: UPLOADS, label: 'uploads only' },
            ...sources.map(({ id, name }) => ({ value: String(id), label: `the source ${name}` })),
          ]}
          value={way}
          onChange={(value) => value && setWay(value)}
        />
        <Button type="submit" loading={reserve.isPending} disabled={pattern.trim() === ''}>
          Reserve
        </Button>
      </Group>
    </Form>
  )
}
