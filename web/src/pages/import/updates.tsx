// Packages here for which a security source has a newer version, with a button to import each.
import { Button, Text } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { call, read, type Answered } from '../../api/api.ts'
import { Answer, Empty, Failure } from '../../parts/answer.tsx'
import { Toned } from '../../parts/marks.tsx'
import { Rows } from '../../parts/rows.tsx'
import { VersionLink } from '../../parts/version-link.tsx'
import { When } from '../../parts/when.tsx'
import { count } from '../../parts/words.ts'
import { looked, type Looked } from './unread.ts'

type Update = Answered<'GET /import/security-updates'>['items'][number]

export function SecurityUpdates() {
  const list = useQuery(read('GET /import/security-updates', { query: { per_page: MOST_SHOWN } }))
  const sources = useQuery(read('GET /import/sources'))
  return (
    <Answer of={sources}>
      {({ sources: all }) => (
        <Answer of={list}>
          {({ items, total }) => (
            <>
              <Known updates={total} of={looked(all)} />
              {items.length > 0 && <Updates items={items} />}
              {total > items.length && (
                <Text size="sm">
                  The first {items.length} of {total}.
                </Text>
              )}
            </>
          )}
        </Answer>
      )}
    </Answer>
  )
}

/** The limit of the service: one page. */
const MOST_SHOWN = 200
const MOST_NAMED = 5

/** How complete the list is. A source that was never read does not mean that nothing is newer. */
function Known({ updates, of: { read: known, never, oldest } }: { updates: number; of: Looked }) {
  const missing =
    never.length === 0
      ? null
      : `${count(never.length, 'security source was', 'security sources were')} never read: ${never.slice(0, MOST_NAMED).join(', ')}${never.length > MOST_NAMED ? ' and more' : ''}. Nothing is known of what they have.`
  if (known === 0)
    return (
      <Empty title="No security source was read yet">
        <Toned tone="unknown">Whether there are newer fixes is not known.</Toned>{' '}
        <Link to="/import">Read the sources first.</Link>
      </Empty>
    )
  return (
    <>
      {updates === 0 && (
        <Empty
          title={`No newer fixes in the ${count(known, 'security source')} that ${known === 1 ? 'was' : 'were'} read`}
        >
          The oldest was read <When at={oldest} />.
        </Empty>
      )}
      {missing && (
        <div style={{ marginBottom: '0.8rem' }}>
          <Toned tone="unknown">{missing}</Toned>
        </div>
      )}
    </>
  )
}

function Updates({ items }: { items: readonly Update[] }) {
  return (
    <Rows
      of={items}
      label="Security updates"
      id={({ package: name, version, arch, distribution }) => `${name} ${version} ${arch} ${distribution}`}
      columns={[
        {
          head: 'Package',
          cell: ({ package: name, version }) => <VersionLink name={name} version={version} />,
        },
        { head: 'In', cell: ({ distribution }) => distribution },
        { head: 'Findings', number: true, cell: ({ findings }) => findings },
        {
          head: 'Newer',
          cell: ({ newer_version: newer, source }) => (
            <>
              <span className="mono">{newer}</span> in {source.name}
            </>
          ),
        },
        { head: 'Found', cell: ({ found_at: at }) => <When at={at} /> },
        { head: '', cell: (update) => <Bring update={update} /> },
      ]}
    />
  )
}

function Bring({ update: { package: name, newer_version: version, arch, distribution, source } }: { update: Update }) {
  const queries = useQueryClient()
  const bring = useMutation({
    mutationFn: () =>
      call('POST /import/packages', { body: { source_id: source.id, package: name, version, arch, distribution } }),
    onSuccess: () => queries.invalidateQueries(),
  })
  if (bring.isError) return <Failure error={bring.error} />
  return (
    <Button
      size="compact-xs"
      variant="default"
      loading={bring.isPending}
      disabled={bring.isSuccess}
      onClick={() => bring.mutate()}
      aria-label={`Import ${name} ${version}`}
    >
      {bring.data?.status ?? 'Import'}
    </Button>
  )
}
