// How a machine installs this package: the set-up command of its distribution, then the client's own command.
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { read } from '../../api/api.ts'
import { Section } from '../../parts/page.tsx'
import { Snippet } from '../../parts/snippet.tsx'
import type { PackageRecord } from '../../parts/record.ts'

export function Install({ record }: { record: PackageRecord }) {
  const setup = useQuery(
    read('GET /distributions/{codename}/setup', { params: { codename: record.distribution } }),
  ).data
  if (!setup) return null
  return (
    <Section title="Install">
      <Snippet label={`Install with ${setup.package_manager}`} text={`${setup.install_command} ${record.name}`} />
      <details>
        <summary>A machine that does not know this repository yet</summary>
        <Snippet label={`Set up a machine for ${record.distribution}`} text={setup.command} />
        <Link to="/distributions/$codename" params={{ codename: record.distribution }}>
          {setup.full_name}
        </Link>
      </details>
    </Section>
  )
}
