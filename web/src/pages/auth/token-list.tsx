// A list of API tokens, each with what it may do and a button that ends it. Stale ones are marked.
import { Button, Text } from '@mantine/core'
import { useState } from 'react'
import { ROLE_DESCRIPTIONS } from '../../../../src/domain/roles.ts'
import { call, type Answered } from '../../api/api.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { Toned } from '../../parts/marks.tsx'
import { Rows } from '../../parts/rows.tsx'
import { When } from '../../parts/when.tsx'

type Token = Answered<'GET /auth/api-tokens'>['tokens'][number]
const STALE_MS = 90 * 86_400_000

/** @param own the tokens are those of the person */
export function TokenList({ of: tokens, own }: { of: readonly Token[]; own: boolean }) {
  const [revoking, setRevoking] = useState<Token | null>(null)
  return (
    <>
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
          { head: 'Role', cell: (token) => <RoleOf of={token} /> },
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
      {revoking && (
        <Confirm
          title={`Revoke ${revoking.name}`}
          action="Revoke"
          close={() => setRevoking(null)}
          run={() =>
            call(own ? 'DELETE /auth/me/tokens/{token_id}' : 'DELETE /auth/api-tokens/{token_id}', {
              params: { token_id: revoking.token_id },
            })
          }
        >
          It ends immediately; what uses it fails.
        </Confirm>
      )}
    </>
  )
}

function RoleOf({ of: { role, acts_as: now } }: { of: Token }) {
  const [given, left] = [role, now].map((one) => ROLE_DESCRIPTIONS[one].label)
  return given === left ? given : `${given}, acts as ${left}`
}

function State({ of: { active, creator_active: owner, last_used: used, created_at: created } }: { of: Token }) {
  if (!active) return <Toned tone="unknown">{owner ? 'ended' : 'its owner is gone'}</Toned>
  const stale = Date.now() - Date.parse(used ?? created) > STALE_MS
  return <Toned tone={stale ? 'care' : 'good'}>{stale ? 'not used for 90 days' : 'active'}</Toned>
}
