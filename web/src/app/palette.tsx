// Finds everything by name: pages, packages, CVE ids, and actions on what is open.
import { Spotlight, spotlight, type SpotlightActionData } from '@mantine/spotlight'
import { useDebouncedValue } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { looksLikeAdvisory } from '../../../src/domain/advisory-id.ts'
import { mayAccess } from '../../../src/domain/roles.ts'
import { read } from '../api/api.ts'
import { useSession } from '../session/session.ts'
import { useOffered } from '../parts/actions.ts'
import { useNavigation } from './navigation.ts'

export default function Palette() {
  const [query, setQuery] = useState('')
  const [asked] = useDebouncedValue(query.trim(), 150)
  const navigate = useNavigate()
  const role = useSession()?.user?.role
  const isAdvisory = looksLikeAdvisory(asked)
  const found = useQuery({
    ...read('GET /artifacts', { query: { search: asked, per_page: 8 } }),
    enabled: asked.length > 1 && !isAdvisory,
  })

  const actions: SpotlightActionData[] = useOffered()
    .filter(({ label }) => label.toLowerCase().includes(query.trim().toLowerCase()))
    .map(({ label, keys, run }) => ({ id: `action ${keys}`, label, description: keys, onClick: run }))
  const pages: SpotlightActionData[] = useNavigation()
    .filter(
      ({ access, title }) =>
        role && access && mayAccess(role, access) && title.toLowerCase().includes(query.trim().toLowerCase()),
    )
    .map(({ path, title, keys }) => ({
      id: path,
      label: title,
      description: keys ? `g ${keys}` : undefined,
      onClick: () => void navigate({ to: path }),
    }))
  const packages: SpotlightActionData[] =
    asked.length > 1 && !isAdvisory
      ? (found.data?.items ?? []).map(({ name, latest_version: latest, distributions }) => ({
          id: `package ${name}`,
          label: name,
          description: `${latest}, ${distributions.join(', ')}`,
          onClick: () => void navigate({ to: '/packages/$name', params: { name } }),
        }))
      : []
  const advisories: SpotlightActionData[] = looksLikeAdvisory(query)
    ? [
        {
          id: 'advisory',
          label: query.trim().toUpperCase(),
          description: 'Which packages have it',
          onClick: () => void navigate({ to: '/vulnerabilities', search: { q: query.trim().toUpperCase() } }),
        },
      ]
    : []

  const groups = [
    { group: 'Vulnerability', actions: advisories },
    { group: 'Here', actions },
    { group: 'Packages', actions: packages },
    { group: 'Pages', actions: pages },
  ].filter(({ actions }) => actions.length > 0)

  /** Enter without a selection opens the first result; when none has arrived yet, the list of packages. */
  function openFirst(): void {
    if (document.querySelector('[data-selected].mantine-Spotlight-action')) return
    const first = groups[0]?.actions[0]
    if (first) first.onClick?.({} as never)
    else if (query.trim()) void navigate({ to: '/packages', search: { q: query.trim() } })
    else return
    spotlight.close()
  }

  return (
    <Spotlight
      actions={groups}
      query={query}
      onQueryChange={setQuery}
      filter={(_, given) => given}
      nothingFound="Nothing has that name"
      shortcut={null}
      searchProps={{
        placeholder: 'Package, CVE or page',
        'aria-label': 'Search packages, CVEs and pages',
        onKeyDown: (event) => event.key === 'Enter' && openFirst(),
      }}
      attributes={{ content: { 'aria-label': 'Search' } }}
      scrollAreaProps={{ viewportProps: { tabIndex: 0 } }}
      scrollable
      maxHeight={420}
    />
  )
}
