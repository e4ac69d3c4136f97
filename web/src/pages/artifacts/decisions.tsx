// The decisions about a version: why a package with findings is published, or is not.
import { useQuery } from '@tanstack/react-query'
import { read } from '../../api/api.ts'
import { Answer, Empty } from '../../parts/answer.tsx'
import { Rows } from '../../parts/rows.tsx'
import { When } from '../../parts/when.tsx'
import { ACTIONS } from '../../parts/words.ts'
import type { PackageRecord } from '../../parts/record.ts'

export function Decisions({ record: { name, version, distribution } }: { record: PackageRecord }) {
  const decisions = useQuery(
    read('GET /security/decisions', { query: { package: name, version, distribution, per_page: 200 } }),
  )
  return (
    <Answer of={decisions}>
      {({ decisions: all }) =>
        all.length === 0 ? (
          <Empty title="Nobody decided about this version">The policy alone let it in, or holds it.</Empty>
        ) : (
          <Rows
            of={all}
            label="Decisions"
            id={({ id }) => String(id)}
            columns={[
              { head: 'Decision', cell: ({ action }) => (ACTIONS as Record<string, string>)[action] ?? action },
              { head: 'Findings', cell: ({ cve_ids: ids }) => ids.join(', ') || 'all' },
              { head: 'Reason', cell: ({ justification }) => justification },
              { head: 'By', cell: ({ decided_by: who }) => who },
              { head: 'Decided', cell: ({ decided_at: at }) => <When at={at} /> },
              {
                head: 'Expires',
                cell: ({ active, expires_at: at }) => (active ? <When at={at} /> : 'ended'),
              },
            ]}
          />
        )
      }
    </Answer>
  )
}
