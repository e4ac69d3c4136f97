// Packages here of which a security source has a newer version, with one button to import each.
import { Button } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { call, read, type Answered } from '../../api/api.ts'
import { Answer, Empty, Failure } from '../../parts/answer.tsx'
import { Rows } from '../../parts/rows.tsx'
import { VersionLink } from '../../parts/version-link.tsx'
import { When } from '../../parts/when.tsx'

type Update = Answered<'GET /import/security-updates'>['items'][number]

export function SecurityUpdates() {
  const list = useQuery(read('GET /import/security-updates', { query: { per_page: 200 } }))
  return (
    <Answer of={list}>
      {({ items }) =>
        items.length === 0 ? (
          <Empty title="No newer fixes are known">As of the last time the security sources were read.</Empty>
        ) : (
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
    </Answer>
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
