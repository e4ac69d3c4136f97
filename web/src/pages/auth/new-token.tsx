// Creating an API token: it is shown once, with example lines that use it.
import { MultiSelect, NumberInput, Select, TagsInput, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { lesserRole, ROLE_DESCRIPTIONS, ROLES, type Role } from '../../../../src/domain/roles.ts'
import { SCOPE_ACTIONS } from '../../../../src/domain/scopes.ts'
import { base, call } from '../../api/api.ts'
import { useCodenames } from '../../parts/distributions.ts'
import { MakeToken } from '../../parts/make-token.tsx'
import { Snippet } from '../../parts/snippet.tsx'
import { useSession } from '../../session/session.ts'

/** @param own a token of the person, with at most their role */
export function NewToken({ own, close }: { own: boolean; close: () => void }) {
  const codenames = useCodenames()
  const [name, setName] = useState('')
  const [role, setRole] = useState<Role>('uploader')
  const mine = useSession()?.user?.role ?? 'reader'
  const [days, setDays] = useState<number | string>(90)
  const [actions, setActions] = useState<string[]>([])
  const [distributions, setDistributions] = useState<string[]>([])
  const [names, setNames] = useState<string[]>([])
  const make = () => {
    const scopes = {
      ...(actions.length > 0 && { actions }),
      ...(distributions.length > 0 && { distributions }),
      ...(names.length > 0 && { names }),
    }
    return call(own ? 'POST /auth/me/tokens' : 'POST /auth/api-tokens', {
      body: {
        name,
        role,
        ...(typeof days === 'number' && { expires_days: days }),
        ...(Object.keys(scopes).length > 0 && { scopes: scopes as never }),
      },
    })
  }
  return (
    <MakeToken
      title="New token"
      make={make}
      about="Store it where the pipeline keeps secrets."
      use={() => <Upload />}
      close={close}
    >
      <TextInput
        label="Name"
        description="What uses it."
        required
        data-autofocus
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <Select
        label="Role"
        data={ROLES.filter((value) => lesserRole(value, mine) === value).map((value) => ({
          value,
          label: ROLE_DESCRIPTIONS[value].label,
        }))}
        value={role}
        onChange={(value) => value && setRole(value)}
      />
      <NumberInput
        label="Days until it ends"
        description="Empty: it does not end."
        min={1}
        max={3650}
        value={days}
        onChange={setDays}
      />
      <MultiSelect label="Only these actions" data={[...SCOPE_ACTIONS]} value={actions} onChange={setActions} />
      <MultiSelect
        label="Only these distributions"
        data={codenames}
        value={distributions}
        onChange={setDistributions}
        searchable
      />
      <TagsInput
        label="Only these package names"
        description="`*` is any text. Enter after each."
        value={names}
        onChange={setNames}
      />
    </MakeToken>
  )
}

function Upload() {
  return (
    <>
      <Text size="sm" mb="xs">
        As a masked variable <span className="mono">GATEHOUSE_TOKEN</span>, a pipeline with Node uploads so, and fails
        when the package is not published:
      </Text>
      <Snippet
        label="Upload from a pipeline"
        text={`curl -fsSO ${base}cli/gatehouse.mjs\nnode gatehouse.mjs upload --url ${base} -d CODENAME package.deb`}
      />
    </>
  )
}
