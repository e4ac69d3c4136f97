// The form for a new repository.
import { Button, Group, Modal, Select, Stack, Switch, Text, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { DEFAULT_CURATION } from '../../../../src/domain/curation.ts'
import { call } from '../../api/api.ts'
import { Failure } from '../../parts/answer.tsx'
import { Form } from '../../parts/form.tsx'
import { Choice } from './members.tsx'
import { REGISTRIES, type Registry, type Repository } from './registries.ts'
import { UpstreamFields } from './upstream-fields.tsx'

type Kind = Repository['kind']

const KINDS: Record<Kind, string> = {
  hosted: 'Hosted: keeps what is published to it',
  proxy: 'Proxy: what another registry has, through the gate',
  group: 'Group: several repositories under one address',
}

export function CreateRepository({ close }: { close: () => void }) {
  const queries = useQueryClient()
  const [format, setFormat] = useState<Registry>('npm')
  const [name, setName] = useState('')
  const [kind, setKind] = useState<Kind>('hosted')
  const [members, setMembers] = useState<string[]>([])
  const [upstream, setUpstream] = useState({ url: '', authorization: '' })
  const [description, setDescription] = useState('')
  const [isPublic, setPublic] = useState(false)
  const create = useMutation({
    mutationFn: () =>
      call('POST /registries', {
        body: {
          ...{ format, name: name.trim(), kind, description, public: isPublic },
          ...(kind === 'group' && { members }),
          ...(kind === 'proxy' && {
            upstream: {
              url: upstream.url.trim(),
              ...(upstream.authorization !== '' && { authorization: upstream.authorization }),
            },
          }),
        },
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
            data={Object.entries(KINDS).map(([value, label]) => ({ value, label }))}
            allowDeselect={false}
            value={kind}
            onChange={(value) => setKind(value as Kind)}
          />
          {kind === 'group' && <Choice format={format} members={members} choose={setMembers} />}
          {kind === 'proxy' && (
            <>
              <UpstreamFields
                typed={upstream}
                about="The header Authorization, where the upstream asks for one. Nobody can read it back."
                put={setUpstream}
              />
              <Text size="sm">
                Versions are held until they are {DEFAULT_CURATION.min_age_days} days old; its page has this and other
                rules.
              </Text>
            </>
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
