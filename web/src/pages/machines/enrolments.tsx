// Tokens that only enrol machines.
import { Button, Group, NumberInput, TagsInput, Text, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { base, call, read, type Answered } from '../../api/api.ts'
import { Answer, Empty } from '../../parts/answer.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { MakeToken } from '../../parts/make-token.tsx'
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
  const [name, setName] = useState('')
  const [tags, setTags] = useState<string[]>([])
  const [most, setMost] = useState<number | string>(10)
  const [hours, setHours] = useState<number | string>(24)
  return (
    <MakeToken
      title="New enrolment"
      make={() =>
        call('POST /machines/enrolments', { body: { name, tags, most: Number(most), expires_hours: Number(hours) } })
      }
      about="It only enrols machines."
      use={(token) => (
        <>
          <Text size="sm" mb="xs">
            On the machine, this leaves its own token in <span className="mono">GATEHOUSE_TOKEN</span>, for the set-up
            command of a distribution:
          </Text>
          <Snippet label="Enrol a machine" text={enrolling(token)} />
        </>
      )}
      close={close}
    >
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
    </MakeToken>
  )
}

/** Needs curl and sed alone. `printf` belongs to the shell, so that no list of processes shows the token. */
const enrolling = (token: string) => `GATEHOUSE_TOKEN=$(printf '{"token":"%s","name":"%s"}' '${token}' "$(uname -n)" |
  curl -fsS -H 'Content-Type: application/json' -d @- ${base}api/v1/machines/enrol |
  sed 's/.*"token": *"\\([^"]*\\)".*/\\1/')
export GATEHOUSE_TOKEN`
