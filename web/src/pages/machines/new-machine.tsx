// A new machine: its name and tags, then its token, once.
import { TagsInput, TextInput } from '@mantine/core'
import { useState } from 'react'
import { call } from '../../api/api.ts'
import { MakeToken } from '../../parts/make-token.tsx'

export function NewMachine({ close }: { close: () => void }) {
  const [name, setName] = useState('')
  const [tags, setTags] = useState<string[]>([])
  const [certificate, setCertificate] = useState('')
  return (
    <MakeToken
      title="New machine"
      make={() => call('POST /machines', { body: { name, tags, ...(certificate && { certificate }) } })}
      about="The set-up command of a private distribution takes it from GATEHOUSE_TOKEN."
      close={close}
    >
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
    </MakeToken>
  )
}
