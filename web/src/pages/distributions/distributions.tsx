// Every distribution that the service knows, with the served ones first.
import { Link } from '@tanstack/react-router'
import { Answer } from '../../parts/answer.tsx'
import { useDistributions } from '../../parts/distributions.ts'
import { Toned } from '../../parts/marks.tsx'
import { Page } from '../../parts/page.tsx'
import { Rows } from '../../parts/rows.tsx'

export default function Distributions() {
  const list = useDistributions()
  return (
    <Page title="Distributions" about="Open one for the lines that set up a machine.">
      <Answer of={list}>
        {({ distributions }) => (
          <Rows
            of={[...distributions].sort(
              (a, b) =>
                Number(b.active) - Number(a.active) ||
                b.package_count - a.package_count ||
                a.codename.localeCompare(b.codename),
            )}
            label="Distributions"
            id={({ codename }) => codename}
            columns={[
              {
                head: 'Codename',
                cell: ({ codename }) => (
                  <Link to="/distributions/$codename" params={{ codename }}>
                    {codename}
                  </Link>
                ),
              },
              { head: 'Format', cell: ({ format }) => format },
              { head: 'Architectures', cell: ({ architectures }) => architectures.join(', ') },
              { head: 'Packages', number: true, cell: ({ package_count: n }) => n },
              {
                head: 'State',
                cell: ({ active }) => (
                  <Toned tone={active ? 'good' : 'unknown'}>{active ? 'served' : 'switched off (REPO_FORMAT)'}</Toned>
                ),
              },
            ]}
          />
        )}
      </Answer>
    </Page>
  )
}
