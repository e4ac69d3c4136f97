// One repository: how clients are set up, what belongs to its kind, who may read it, and its removal.
import { Button, Switch, Text } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { call, read } from '../../api/api.ts'
import { Answer, Failure } from '../../parts/answer.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { Page, Section } from '../../parts/page.tsx'
import { Snippet } from '../../parts/snippet.tsx'
import { When } from '../../parts/when.tsx'
import { count } from '../../parts/words.ts'
import { useMay } from '../../session/session.ts'
import { Claims } from './claims.tsx'
import { Members } from './members.tsx'
import { Proxy } from './proxy.tsx'
import type { Change, Details, Registry, Which } from './registries.ts'
import { Withheld } from './withheld.tsx'

const route = getRouteApi('/repositories/$format/$name')
const KINDS = { hosted: 'A hosted repository', proxy: 'A proxy', group: 'A group' } as const

export default function Repository() {
  const { format, name } = route.useParams()
  const params = { format: format as Registry, name }
  const found = useQuery(read('GET /registries/{format}/{name}', { params }))
  return (
    <Page
      title={`${format}/${name}`}
      about={found.data?.description}
      actions={
        <Link to="/packages" search={{ distribution: `${format}/${name}` }}>
          Packages
        </Link>
      }
    >
      <Answer of={found}>{(repository) => <Known key={repository.key} of={repository} params={params} />}</Answer>
    </Page>
  )
}

function Known({ of, params }: { of: Details; params: Which }) {
  const queries = useQueryClient()
  const readOnly = !useMay('admin')
  const change = async (body: Change) => {
    await call('PATCH /registries/{format}/{name}', { params, body })
    await Promise.all(
      (['GET /registries', 'GET /registries/{format}/{name}'] as const).map((endpoint) =>
        queries.invalidateQueries({ queryKey: [endpoint] }),
      ),
    )
  }
  const settings = useMutation({ mutationFn: change })
  return (
    <>
      <Text size="sm" mb="md" style={{ overflowWrap: 'anywhere' }}>
        {KINDS[of.kind]}
        {of.upstream && ` of ${of.upstream.url}`} with {count(of.packages, 'package')}, made by {of.created_by}{' '}
        <When at={of.created_at} />.
      </Text>
      {settings.isError && <Failure error={settings.error} />}
      <Section title="Set up a client">
        {of.setup.map(({ client, into, text }) => (
          <div key={client}>
            <Text size="sm" mb={4}>
              {client}
              {into === 'sh' ? '' : `: ${into}`}
            </Text>
            <Snippet label={`Set up ${client}`} text={text} />
          </div>
        ))}
      </Section>
      {of.kind === 'hosted' && <Claims params={params} />}
      {of.kind === 'group' && <Members of={of} readOnly={readOnly} change={settings.mutate} />}
      {of.kind === 'proxy' && <Withheld params={params} />}
      {of.upstream && of.curation && (
        <Proxy upstream={of.upstream} curation={of.curation} readOnly={readOnly} change={change} />
      )}
      <Section title="Settings">
        <Switch
          label="Everybody may read it, without a token"
          checked={of.public}
          disabled={readOnly || settings.isPending}
          onChange={(event) => settings.mutate({ public: event.currentTarget.checked })}
          mb="sm"
        />
        {!readOnly && <Delete of={of} params={params} />}
      </Section>
    </>
  )
}

function Delete({ of, params }: { of: Details; params: Which }) {
  const navigate = useNavigate()
  const [asks, setAsks] = useState(false)
  return (
    <>
      <Button color="red" variant="outline" onClick={() => setAsks(true)}>
        Delete
      </Button>
      {asks && (
        <Confirm
          title={`Delete ${of.key}`}
          action="Delete"
          close={() => setAsks(false)}
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
