// Tokens that only enrol machines.
import { Button, Group, Modal, NumberInput, Stack, TagsInput, TextInput } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { base, call, read, type Answered } from '../../api/api.ts'
import { Answer, Empty, Failure } from '../../parts/answer.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { Form } from '../../parts/form.tsx'
import { MadeToken } from '../../parts/made-token.tsx'
import { Toned } from '../../parts/marks.tsx'
import { Section } from '../../parts/page.tsx'
import { Rows } from '../../parts/rows.tsx'
import { Snippet } from '../../parts/snippet.tsx'
import { When } from '../../parts/when.tsx'

type Enrolment = Answered<'GET /machines/enrolments'>['enrolments'][number]

export function Enrolments({ mayChange }: { mayChange: boolean }) {
  const list = useQuery(read('GET /machines/enrolments'))
  const [creating, setCreating] = useState(false)
  const [revoking, setRevoking] = useState<Enrolment | null>(null)
  return (
    <Section title="Enrolments">
      {mayChange && (
        <Group mb="md">
          <Button variant="default" onClick={() => setCreating(true)}>
            New enrolment
          </Button>
        </Group>
      )}
      <Answer of={list}>
        {({ enrolments }) =>
          enrolments.length === 0 ? (
            <Empty title="No enrolments">A token for images and configuration management, which only enrols.</Empty>
          ) : (
            <Rows
              of={enrolments}
              label="Enrolments"
              id={({ id }) => String(id)}
              columns={[
                { head: 'Name', cell: ({ name }) => name },
                { head: 'Tags', cell: ({ tags }) => tags.join(', ') },
                { head: 'Used', number: true, cell: ({ used, most }) => `${used} of ${most}` },
                { head: 'Ends', cell: ({ expires_at: at }) => <When at={at} /> },
                {
                  head: 'State',
                  cell: ({ active }) => <Toned tone={active ? 'good' : 'unknown'}>{active ? 'active' : 'ended'}</Toned>,
                },
                {
                  head: '',
                  cell: (enrolment) =>
                    mayChange && enrolment.active ? (
                      <Button
                        size="compact-xs"
                        variant="default"
                        onClick={() => setRevoking(enrolment)}
                        aria-label={`Revoke the enrolment ${enrolment.name}`}
                      >
                        Revoke
                      </Button>
                    ) : null,
                },
              ]}
            />
          )
        }
      </Answer>
      {creating && <Create close={() => setCreating(false)} />}
      {revoking && (
        <Confirm
          title={`Revoke the enrolment ${revoking.name}`}
          action="Revoke"
          close={() => setRevoking(null)}
          run={() => call('DELETE /machines/enrolments/{id}', { params: { id: revoking.id } })}
        >
          It enrols no further machine. Those that it enrolled stay.
        </Confirm>
      )}
    </Section>
  )
}

function Create({ close }: { close: () => void }) {
  const queries = useQueryClient()
  const [name, setName] = useState('')
  const [tags, setTags] = useState<string[]>([])
  const [most, setMost] = useState<number | string>(10)
  const [hours, setHours] = useState<number | string>(24)
  const create = useMutation({
    mutationFn: () =>
      call('POST /machines/enrolments', {
        body: { name, tags, most: Number(most), expires_hours: Number(hours) },
      }),
    onSuccess: () => queries.invalidateQueries(),
  })
  if (create.data)
    return (
      <MadeToken token={create.data.token} about="A machine enrols with it so:" close={close}>
        <Snippet
          label="Enrol a machine"
          text={`GATEHOUSE_ENROLMENT=… node gatehouse.mjs machine enrol --url ${base} "$(hostname)"`}
        />
      </MadeToken>
    )
  return (
    <Modal opened onClose={close} title="New enrolment">
      <Form send={() => create.mutate()}>
        <Stack>
          {create.isError && <Failure error={create.error} />}
          <TextInput
            label="Name"
            description="What uses it: letters, digits and . _ -"
            required
            data-autofocus
            maxLength={128}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
          />
          <TagsInput label="Tags of its machines" value={tags} onChange={setTags} />
          <NumberInput label="Machines at most" min={1} max={100_000} required value={most} onChange={setMost} />
          <NumberInput label="Hours until it ends" min={1} max={87_600} required value={hours} onChange={setHours} />
          <Button type="submit" loading={create.isPending}>
            Create
          </Button>
        </Stack>
      </Form>
    </Modal>
  )
}
