// The form for a new repository.
import { Button, Group, Modal, MultiSelect, Select, Stack, Switch, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call, type Answered } from '../../api/api.ts'
import { Failure } from '../../parts/answer.tsx'
import { Form } from '../../parts/form.tsx'
import { REGISTRIES, type Registry } from './registries.ts'

type Repository = Answered<'GET /registries'>['repositories'][number]

export function CreateRepository({ close, known }: { close: () => void; known: readonly Repository[] }) {
  const queries = useQueryClient()
  const [format, setFormat] = useState<Registry>('npm')
  const [name, setName] = useState('')
  const [kind, setKind] = useState<'hosted' | 'group'>('hosted')
  const [members, setMembers] = useState<string[]>([])
  const [description, setDescription] = useState('')
  const [isPublic, setPublic] = useState(false)
  const create = useMutation({
    mutationFn: () =>
      call('POST /registries', {
        body: { format, name: name.trim(), kind, description, public: isPublic, ...(kind === 'group' && { members }) },
      }),
    onSuccess: async () => {
      await queries.invalidateQueries()
      close()
    },
  })
  return (
    <Modal opened onClose={close} title="New repository">
      <Form send={() => create.mutate()}>
        <Stack>
          <Select
            label="Ecosystem"
            data={Object.entries(REGISTRIES).map(([value, label]) => ({ value, label }))}
            allowDeselect={false}
            value={format}
            onChange={(value) => {
              setFormat(value as Registry)
              setMembers([])
            }}
          />
          <TextInput
            label="Name"
            description="Lower case; part of the address that clients use"
            required
            maxLength={64}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            data-autofocus
          />
          <Select
            label="Kind"
            data={[
              { value: 'hosted', label: 'Hosted: keeps what is published to it' },
              { value: 'group', label: 'Group: several repositories under one address' },
            ]}
            allowDeselect={false}
            value={kind}
            onChange={(value) => setKind(value as 'hosted' | 'group')}
          />
          {kind === 'group' && (
            <MultiSelect
              label="Members"
              description="The first one that has a name gives it"
              data={known.filter((one) => one.format === format && one.kind !== 'group').map((one) => one.name)}
              value={members}
              onChange={setMembers}
            />
          )}
          <TextInput
            label="Description"
            maxLength={500}
            value={description}
            onChange={(event) => setDescription(event.currentTarget.value)}
          />
          <Switch
            label="Everybody may read it, without a token"
            checked={isPublic}
            onChange={(event) => setPublic(event.currentTarget.checked)}
          />
          {create.isError && <Failure error={create.error} />}
          <Group>
            <Button type="submit" loading={create.isPending} disabled={name.trim() === ''}>
              Create
            </Button>
            <Button variant="default" onClick={close}>
              Cancel
            </Button>
          </Group>
        </Stack>
      </Form>
    </Modal>
  )
}
