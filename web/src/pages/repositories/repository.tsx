// One repository: how clients are set up, who may read it, its members, and its removal.
import { Button, MultiSelect, Switch, Text } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { call, read, type Answered } from '../../api/api.ts'
import { Answer, Failure } from '../../parts/answer.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { Page, Section } from '../../parts/page.tsx'
import { Snippet } from '../../parts/snippet.tsx'
import { When } from '../../parts/when.tsx'
import { count } from '../../parts/words.ts'
import { useMay } from '../../session/session.ts'
import type { Registry } from './registries.ts'

const route = getRouteApi('/repositories/$format/$name')
const KINDS = { hosted: 'A hosted repository', proxy: 'A proxy', group: 'A group' } as const
type Details = Answered<'GET /registries/{format}/{name}'>

export default function Repository() {
  const { format, name } = route.useParams()
  const params = { format: format as Registry, name }
  const found = useQuery(read('GET /registries/{format}/{name}', { params }))
  return (
    <Page
      title={`${params.format}/${params.name}`}
      about={found.data?.description}
      actions={
        <Link to="/packages" search={{ distribution: `${params.format}/${params.name}` }}>
          Packages
        </Link>
      }
    >
      <Answer of={found}>
        {(repository) => (
          <>
            <Section title="Set up a client">
              {repository.setup.map(({ client, into, text }) => (
                <div key={client}>
                  <Text size="sm" mb={4}>
                    {client}
                    {into === 'sh' ? '' : `: ${into}`}
                  </Text>
                  <Snippet label={`Set up ${client}`} text={text} />
                </div>
              ))}
            </Section>
            <Section title="Settings">
              <Settings of={repository} params={params} />
            </Section>
          </>
        )}
      </Answer>
    </Page>
  )
}

function Settings({ of, params }: { of: Details; params: { format: Registry; name: string } }) {
  const queries = useQueryClient()
  const navigate = useNavigate()
  const mayChange = useMay('admin')
  const known = useQuery(read('GET /registries'))
  const [removing, setRemoving] = useState(false)
  const change = useMutation({
    mutationFn: (body: { public?: boolean; members?: string[] }) =>
      call('PATCH /registries/{format}/{name}', { params, body }),
    onSuccess: () => queries.invalidateQueries(),
  })
  return (
    <>
      <Text size="sm" mb="sm">
        {KINDS[of.kind]} with {count(of.packages, 'package')}, made by {of.created_by} <When at={of.created_at} />.
      </Text>
      {change.isError && <Failure error={change.error} />}
      <Switch
        label="Everybody may read it, without a token"
        checked={of.public}
        disabled={!mayChange || change.isPending}
        onChange={(event) => change.mutate({ public: event.currentTarget.checked })}
        mb="sm"
      />
      {of.kind === 'group' && (
        <MultiSelect
          label="Members"
          description="The first one that has a name gives it"
          maw={480}
          mb="sm"
          disabled={!mayChange || change.isPending}
          data={(known.data?.repositories ?? [])
            .filter((one) => one.format === of.format && one.kind !== 'group')
            .map(({ name }) => name)}
          value={of.members}
          onChange={(members) => change.mutate({ members })}
        />
      )}
      {mayChange && (
        <Button color="red" variant="outline" onClick={() => setRemoving(true)}>
          Delete
        </Button>
      )}
      {removing && (
        <Confirm
          title={`Delete ${of.key}`}
          action="Delete"
          close={() => setRemoving(false)}
          run={async () => {
            await call('DELETE /registries/{format}/{name}', { params })
            await navigate({ to: '/repositories' })
          }}
        >
          Its address answers 404 then. Only a repository without packages, and in no group, can be deleted.
        </Confirm>
      )}
    </>
  )
}
