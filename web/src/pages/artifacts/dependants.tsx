// The published packages of the distribution that need this version, and those of them that no other package would satisfy.
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { readList } from '../../api/api.ts'
import { Answer, Empty } from '../../parts/answer.tsx'
import { Toned } from '../../parts/marks.tsx'
import { PastEnd, Pager } from '../../parts/pager.tsx'
import { Rows } from '../../parts/rows.tsx'
import type { PackageRecord } from '../../parts/record.ts'

const route = getRouteApi('/packages/$name')

export function Dependants({ record: { name, version, distribution, arch } }: { record: PackageRecord }) {
  const { page = 1 } = route.useSearch()
  const dependants = useQuery(
    readList('GET /artifacts/{name}/{version}/dependants', {
      params: { name, version },
      query: { distribution, arch, page, per_page: 50 },
    }),
  )
  return (
    <Answer of={dependants}>
      {({ items, total, pages, total_capped: capped }) =>
        items.length === 0 && total > 0 ? (
          <PastEnd pages={pages} />
        ) : total === 0 ? (
          <Empty title={`Nothing in ${distribution} needs it`} />
        ) : (
          <>
            <Rows
              of={items}
              label="Dependants"
              id={(one) => `${one.name} ${one.version} ${one.arch}`}
              columns={[
                {
                  head: 'Package',
                  cell: (one) => (
                    <Link
                      to="/packages/$name"
                      params={{ name: one.name }}
                      search={{ version: one.version, distribution, arch: one.arch }}
                    >
                      {one.name}
                    </Link>
                  ),
                },
                { head: 'Version', cell: (one) => <span className="mono">{`${one.version} ${one.arch}`}</span> },
                { head: 'Needs', cell: (one) => <span className="mono">{one.requirements.join('; ')}</span> },
                {
                  head: 'Without this version',
                  cell: ({ only }) =>
                    only ? <Toned tone="care">could not be installed</Toned> : 'something else meets it',
                },
              ]}
            />
            <Pager
              page={page}
              pages={pages}
              total={total}
              what={capped ? 'packages, perhaps more' : total === 1 ? 'package' : 'packages'}
            />
          </>
        )
      }
    </Answer>
  )
}
