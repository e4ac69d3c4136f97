// What the package needs, and whether its distribution or a source has it.
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { read } from '../../api/api.ts'
import { Answer, Empty } from '../../parts/answer.tsx'
import { Toned } from '../../parts/marks.tsx'
import { Section } from '../../parts/page.tsx'
import { Rows } from '../../parts/rows.tsx'
import { count } from '../../parts/words.ts'
import { useMay } from '../../session/session.ts'
import type { PackageRecord } from './package.tsx'

export function Dependencies({ record }: { record: PackageRecord }) {
  const { name, version, distribution, arch } = record
  const needs = useQuery(
    read('GET /artifacts/{name}/dependencies', { params: { name }, query: { version, distribution, arch } }),
  )
  const mayImport = useMay('uploader+')
  return (
    <Section title="Needs">
      <Answer of={needs}>
        {({ dependencies, dependencies_total: total, missing_total: missing }) =>
          dependencies.length === 0 ? (
            <Empty title="It needs nothing" />
          ) : (
            <>
              <p>
                {missing === 0
                  ? `All ${count(total, 'dependency', 'dependencies')} are in ${distribution}.`
                  : `${count(missing, 'dependency', 'dependencies')} of ${total} missing in ${distribution}.`}
              </p>
              <Rows
                of={[...dependencies].sort((a, b) => Number(a.available_internally) - Number(b.available_internally))}
                label="Dependencies"
                id={({ name: needed, version_constraint: constraint }) => `${needed} ${constraint}`}
                columns={[
                  {
                    head: 'Needs',
                    cell: ({ name: needed, version_constraint: constraint }) => (
                      <span className="mono">{`${needed} ${constraint}`}</span>
                    ),
                  },
                  {
                    head: 'Here',
                    cell: ({ available_internally: here }) => (
                      <Toned tone={here ? 'good' : 'bad'}>{here ? 'available' : 'missing'}</Toned>
                    ),
                  },
                  {
                    head: 'Upstream',
                    cell: ({ name: needed, available_internally: here, available_upstream: upstream }) =>
                      upstream === null ? (
                        'no source synced'
                      ) : upstream ? (
                        !here && mayImport ? (
                          <Link to="/import" search={{ q: needed }}>
                            import it
                          </Link>
                        ) : (
                          'available'
                        )
                      ) : (
                        'missing'
                      ),
                  },
                ]}
              />
            </>
          )
        }
      </Answer>
    </Section>
  )
}
