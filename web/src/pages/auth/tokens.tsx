// API tokens: a new one is shown once, with example lines that use it. Stale ones are marked.
import { Button, Modal, MultiSelect, NumberInput, Select, Stack, TagsInput, Text, TextInput } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ROLE_DESCRIPTIONS, ROLES, type Role } from '../../../../src/domain/roles.ts'
import { base, call, read, type Answered } from '../../api/api.ts'
import { Answer, Empty, Failure } from '../../parts/answer.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { useCodenames } from '../../parts/distributions.ts'
import { Form } from '../../parts/form.tsx'
import { MadeToken } from '../../parts/made-token.tsx'
import { Toned } from '../../parts/marks.tsx'
import { Page } from '../../parts/page.tsx'
import { Rows } from '../../parts/rows.tsx'
import { Snippet } from '../../parts/snippet.tsx'
import { When } from '../../parts/when.tsx'

type Token = Answered<'GET /auth/api-tokens'>['tokens'][number]
const STALE_MS = 90 * 86_400_000

export default function Tokens() {
  const list = useQuery(read('GET /auth/api-tokens'))
  const [creating, setCreating] = useState(false)
  const [revoking, setRevoking] = useState<Token | null>(null)
  return (
    <Page
      title="API tokens"
      about="For pipelines and scripts. A token never has more rights than the person who made it."
      actions={<Button onClick={() => setCreating(true)}>New token</Button>}
    >
      <Answer of={list}>
        {({ tokens }) =>
          tokens.length === 0 ? (
            <Empty title="No tokens yet">A pipeline needs one to upload.</Empty>
          ) : (
            <Rows
              of={tokens}
              label="API tokens"
              id={({ id }) => id}
              columns={[
                {
                  head: 'Name',
                  cell: ({ name, token_hint: hint }) => (
                    <>
                      {name}{' '}
                      <Text span size="xs" c="dimmed" className="mono">
                        …{hint}
                      </Text>
                    </>
                  ),
                },
                { head: 'Role', cell: ({ role }) => ROLE_DESCRIPTIONS[role].label },
                {
                  head: 'Only',
                  cell: ({ scopes }) =>
                    scopes
                      ? Object.entries(scopes)
                          .map(([key, values]) => `${key}: ${values.join(', ')}`)
                          .join('; ')
                      : '',
                },
                {
                  head: 'By',
                  cell: ({ created_by: who, created_at: at }) => (
                    <>
                      {who} <When at={at} />
                    </>
                  ),
                },
                { head: 'Used', cell: ({ last_used: at }) => <When at={at} /> },
                { head: 'Expires', cell: ({ expires_at: at }) => <When at={at} /> },
                { head: 'State', cell: (token) => <State of={token} /> },
                {
                  head: '',
                  cell: (token) =>
                    token.active ? (
                      <Button
                        size="compact-xs"
                        variant="default"
                        onClick={() => setRevoking(token)}
                        aria-label={`Revoke ${token.name}`}
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
          title={`Revoke ${revoking.name}`}
          action="Revoke"
          close={() => setRevoking(null)}
          run={() => call('DELETE /auth/api-tokens/{token_id}', { params: { token_id: revoking.token_id } })}
        >
          It ends immediately; what uses it fails.
        </Confirm>
      )}
    </Page>
  )
}

function State({ of: { active, creator_active: owner, last_used: used, created_at: created } }: { of: Token }) {
  if (!active) return <Toned tone="unknown">{owner ? 'ended' : 'its owner is gone'}</Toned>
  const stale = Date.now() - Date.parse(used ?? created) > STALE_MS
  return <Toned tone={stale ? 'care' : 'good'}>{stale ? 'not used for 90 days' : 'active'}</Toned>
}

const ACTIONS = ['read', 'upload', 'import', 'promote', 'delete', 'review', 'manage']

function Create({ close }: { close: () => void }) {
  const queries = useQueryClient()
  const codenames = useCodenames()
  const [name, setName] = useState('')
  const [role, setRole] = useState<Role>('uploader')
  const [days, setDays] = useState<number | string>(90)
  const [actions, setActions] = useState<string[]>([])
  const [distributions, setDistributions] = useState<string[]>([])
  const [names, setNames] = useState<string[]>([])
  const create = useMutation({
    mutationFn: () => {
      const scopes = {
        ...(actions.length > 0 && { actions }),
        ...(distributions.length > 0 && { distributions }),
        ...(names.length > 0 && { names }),
      }
      return call('POST /auth/api-tokens', {
        body: {
          name,
          role,
          ...(typeof days === 'number' && { expires_days: days }),
          ...(Object.keys(scopes).length > 0 && { scopes: scopes as never }),
        },
      })
    },
    onSuccess: () => queries.invalidateQueries(),
  })
  if (create.data) return <Made token={create.data.token} close={close} />
  return (
    <Modal opened onClose={close} title="New token">
      <Form send={() => create.mutate()}>
        <Stack>
          {create.isError && <Failure error={create.error} />}
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
            data={ROLES.map((value) => ({ value, label: ROLE_DESCRIPTIONS[value].label }))}
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
          <MultiSelect label="Only these actions" data={ACTIONS} value={actions} onChange={setActions} />
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
          <Button type="submit" loading={create.isPending}>
            Create
          </Button>
        </Stack>
      </Form>
    </Modal>
  )
}

function Made({ token, close }: { token: string; close: () => void }) {
  return (
    <MadeToken token={token} about="Store it where the pipeline keeps secrets." close={close}>
      <Text size="sm" mb="xs">
        As a masked variable <span className="mono">GATEHOUSE_TOKEN</span>, a pipeline with Node uploads so, and fails
        when the package is not published:
      </Text>
      <Snippet
        label="Upload from a pipeline"
        text={`curl -fsSO ${base}cli/gatehouse.mjs\nnode gatehouse.mjs upload --url ${base} -d CODENAME package.deb`}
      />
    </MadeToken>
  )
}
