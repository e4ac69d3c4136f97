// Names of a hosted repository that no proxy asks its upstream for.
import { Button, Group, Text, TextInput } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call, read } from '../../api/api.ts'
import { Answer, Empty, Failure } from '../../parts/answer.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { Foreign } from '../../parts/foreign.tsx'
import { Form } from '../../parts/form.tsx'
import { Section } from '../../parts/page.tsx'
import { Rows } from '../../parts/rows.tsx'
import { When } from '../../parts/when.tsx'
import { useMay } from '../../session/session.ts'
import type { Which } from './registries.ts'

const CLAIMS = 'GET /registries/{format}/{name}/claims'

export function Claims({ params }: { params: Which }) {
  const list = useQuery(read(CLAIMS, { params }))
  const mayChange = useMay('admin')
  const [removed, setRemoved] = useState<string | null>(null)
  return (
    <Section title="Claimed names">
      <Text size="sm" mb="md" maw={760}>
        What was ever published to a hosted repository is never asked for upstream, by no proxy and no group. A claim
        says the same of names that are not published yet.
      </Text>
      {mayChange && <Claim params={params} />}
      <Answer of={list} rows={3}>
        {({ claims }) =>
          claims.length === 0 ? (
            <Empty title="No name is claimed" />
          ) : (
            <Rows
              of={claims}
              label="Claimed names"
              id={({ pattern }) => pattern}
              columns={[
                { head: 'Name', cell: ({ pattern }) => <span className="mono">{pattern}</span> },
                {
                  head: 'Since',
                  cell: ({ created_at: at, created_by: who }) => (
                    <>
                      <When at={at} /> by <Foreign>{who}</Foreign>
                    </>
                  ),
                },
                {
                  head: '',
                  cell: ({ pattern }) =>
                    mayChange ? (
                      <Button
                        size="compact-xs"
                        variant="default"
                        onClick={() => setRemoved(pattern)}
                        aria-label={`Give up ${pattern}`}
                      >
                        Give up
                      </Button>
                    ) : null,
                },
              ]}
            />
          )
        }
      </Answer>
      {removed !== null && (
        <Confirm
          title={`Give up ${removed}`}
          action="Give up"
          close={() => setRemoved(null)}
          run={() => call('DELETE /registries/{format}/{name}/claims', { params, query: { pattern: removed } })}
        >
          Proxies ask their upstreams for these names again, unless they are published here.
        </Confirm>
      )}
    </Section>
  )
}

function Claim({ params }: { params: Which }) {
  const queries = useQueryClient()
  const [pattern, setPattern] = useState('')
  const claim = useMutation({
    mutationFn: () => call('POST /registries/{format}/{name}/claims', { params, body: { pattern: pattern.trim() } }),
    onSuccess: async () => {
      setPattern('')
      await queries.invalidateQueries({ queryKey: [CLAIMS] })
    },
  })
  return (
    <Form send={() => pattern.trim() !== '' && claim.mutate()}>
      {claim.isError && <Failure error={claim.error} />}
      <Group align="flex-end" mb="md" gap="sm">
        <TextInput
          label="Name"
          description="Or the beginning of names, with * behind it."
          required
          maxLength={214}
          value={pattern}
          onChange={(event) => setPattern(event.currentTarget.value)}
        />
        <Button type="submit" loading={claim.isPending} disabled={pattern.trim() === ''}>
          Claim
        </Button>
      </Group>
    </Form>
  )
}
