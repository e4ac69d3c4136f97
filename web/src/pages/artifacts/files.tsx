// The files of a version, one page at a time: some packages have a hundred thousand.
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { readList } from '../../api/api.ts'
import { Answer, Empty } from '../../parts/answer.tsx'
import { Filters, TextFilter } from '../../parts/filters.tsx'
import { Foreign } from '../../parts/foreign.tsx'
import { PastEnd, Pager } from '../../parts/pager.tsx'
import type { PackageRecord } from '../../parts/record.ts'

const route = getRouteApi('/packages/$name')
const PER_PAGE = 200

export function Files({ record: { name, version, distribution, arch } }: { record: PackageRecord }) {
  const { q, page = 1 } = route.useSearch()
  const files = useQuery(
    readList('GET /artifacts/{name}/{version}/files', {
      params: { name, version },
      query: { distribution, arch, q, page, per_page: PER_PAGE },
    }),
  )
  return (
    <>
      <Filters>
        <TextFilter name="q" label="Part of the path" value={q} />
      </Filters>
      <Answer of={files}>
        {({ items, total, pages }) =>
          items.length === 0 && total > 0 ? (
            <PastEnd pages={pages} />
          ) : total === 0 ? (
            <Empty title={q ? `No path has "${q}" in it` : 'It has no files'} />
          ) : (
            <>
              <ul className="paths" aria-label="Files">
                {items.map((path) => (
                  <li key={path} className="mono">
                    <Foreign>{`/${path}`}</Foreign>
                  </li>
                ))}
              </ul>
              <Pager page={page} pages={pages} total={total} what={total === 1 ? 'file' : 'files'} />
            </>
          )
        }
      </Answer>
    </>
  )
}
