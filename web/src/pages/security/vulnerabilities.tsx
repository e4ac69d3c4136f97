// By advisory: which packages have it, whether clients get them, and where the fix is.
import { Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { readList, type Answered } from '../../api/api.ts'
import { Answer, Empty } from '../../parts/answer.tsx'
import { useCodenames } from '../../parts/distributions.ts'
import { ExportLinks } from '../../parts/export-links.tsx'
import { ChoiceFilter, Filters, FlagFilter, TextFilter } from '../../parts/filters.tsx'
import { Foreign } from '../../parts/foreign.tsx'
import { Exploited, Findings, SeverityMark, Status } from '../../parts/marks.tsx'
import { Page } from '../../parts/page.tsx'
import { PastEnd, Pager } from '../../parts/pager.tsx'
import { Rows } from '../../parts/rows.tsx'
import { VersionLink } from '../../parts/version-link.tsx'
import { count, SEVERITIES } from '../../parts/words.ts'

const FIX_STATES = ['fixed', 'not-fixed', 'wont-fix', 'unknown']
const route = getRouteApi('/vulnerabilities')
type Advisory = NonNullable<Answered<'GET /security/vulnerabilities'>['advisories']>[number]

export default function Vulnerabilities() {
  const { fix, page = 1, size = 50, ...filters } = route.useSearch()
  const list = useQuery(
    readList('GET /security/vulnerabilities', {
      query: { ...filters, fix_state: fix, page, per_page: size, group: 'cve' },
    }),
  )
  const codenames = useCodenames()
  const filtered = Object.keys(filters).length > 0 || fix !== undefined
  return (
    <Page
      title="Vulnerabilities"
      about="What was found in packages of this repository, the worst first."
      actions={<ExportLinks of="GET /security/vulnerabilities/export" query={{ ...filters, fix_state: fix }} />}
    >
      <Filters>
        <TextFilter name="q" label="Advisory or package" value={filters.q} />
        <ChoiceFilter name="severity" label="Severity" value={filters.severity} choices={SEVERITIES} />
        <ChoiceFilter name="fix" label="Fix" value={fix} choices={FIX_STATES} />
        <ChoiceFilter name="distribution" label="Distribution" value={filters.distribution} choices={codenames} />
        <FlagFilter name="kev" label="Known exploited" value={filters.kev} />
      </Filters>
      <Answer of={list}>
        {({ advisories = [], summary, packages_scanned: scanned, total, pages }) =>
          advisories.length === 0 && total > 0 ? (
            <PastEnd pages={pages} />
          ) : advisories.length === 0 ? (
            <Empty title={filtered ? 'No finding matches' : 'No findings'}>
              {count(scanned, 'package was', 'packages were')} compared with the advisories of their distribution.
              {filters.q &&
                ` ${filters.q} was not found in any of them. Packages that could not be scanned say nothing.`}{' '}
              {filtered && <Link to="/vulnerabilities">Show all</Link>}
            </Empty>
          ) : (
            <>
              <div style={{ marginBottom: '0.8rem' }}>
                <Findings counts={summary} scanned />
              </div>
              <Rows
                of={advisories}
                label="Advisories"
                id={({ id }) => id}
                columns={[
                  { head: 'Advisory', cell: (advisory) => <Name of={advisory} /> },
                  { head: 'Severity', cell: ({ severity }) => <SeverityMark value={severity} /> },
                  { head: 'CVSS', number: true, cell: ({ cvss }) => cvss ?? '' },
                  {
                    head: 'EPSS',
                    number: true,
                    cell: ({ epss }) => (epss === null ? '' : `${(epss * 100).toFixed(1)} %`),
                  },
                  { head: 'Packages', cell: (advisory) => <Packages of={advisory} /> },
                ]}
              />
              <Pager
                page={page}
                pages={pages}
                total={total}
                what={total === 1 ? 'advisory' : 'advisories'}
                size={size}
              />
            </>
          )
        }
      </Answer>
    </Page>
  )
}

function Name({ of: { id, aliases, in_kev: exploited, description } }: { of: Advisory }) {
  return (
    <>
      <Link to="/advisories/$id" params={{ id }}>
        {id}
      </Link>{' '}
      {exploited && <Exploited />}
      {aliases.length > 0 && (
        <Text size="xs" maw={420} lineClamp={2}>
          {aliases.join(', ')}
        </Text>
      )}
      <Text size="xs" c="dimmed" maw={420} lineClamp={2}>
        <Foreign>{description}</Foreign>
      </Text>
    </>
  )
}

function Packages({ of: { packages, packages_total: total, served_total: served } }: { of: Advisory }) {
  return (
    <>
      <Text size="sm">
        {served === 0 ? `none of ${total} is offered to clients` : `${served} of ${total} offered to clients`}
      </Text>
      {packages.map(({ name, version, arch, distribution, status, fix_versions: fixes }) => (
        <div key={`${name} ${version} ${arch} ${distribution}`} className="targets">
          <VersionLink name={name} version={version} />
          <span>{distribution}</span>
          <Status value={status} />
          {fixes[0] && <span>fixed in {fixes[0]}</span>}
        </div>
      ))}
    </>
  )
}
