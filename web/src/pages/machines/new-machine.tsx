// A new machine: its name and tags, then its token, once.
import { Button, Modal, Stack, TagsInput, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../api/api.ts'
import { Failure } from '../../parts/answer.tsx'
import { Form } from '../../parts/form.tsx'
import { MadeToken } from '../../parts/made-token.tsx'

export function NewMachine({ close }: { close: () => void }) {
  const queries = useQueryClient()
  const [name, setName] = useState('')
  const [tags, setTags] = useState<string[]>([])
  const [certificate, setCertificate] = useState('')
  const create = useMutation({
    mutationFn: () => call('POST /machines', { body: { name, tags, ...(certificate && { certificate }) } }),
    onSuccess: () => queries.invalidateQueries(),
  })
  if (create.data)
    return (
      <MadeToken
        token={create.data.token}
        about="The set-up command of a private distribution takes it from GATEHOUSE_TOKEN."
        close={close}
      />
    )
  return (
    <Modal opened onClose={close} title="New machine">
      <Form send={() => create.mutate()}>
        <Stack>
          {create.isError && <Failure error={create.error} />}
          <TextInput
            label="Name"
            description="Letters, digits and . _ -"
            required
            data-autofocus
            maxLength={128}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
          />
          <TagsInput label="Tags" description="Enter after each." value={tags} onChange={setTags} />
          <TextInput
            label="Client certificate"
            description="Subject or fingerprint, where a proxy checks certificates."
            value={certificate}
            onChange={(event) => setCertificate(event.currentTarget.value)}
          />
          <Button type="submit" loading={create.isPending}>
            Create
          </Button>
        </Stack>
      </Form>
    </Modal>
  )
}
