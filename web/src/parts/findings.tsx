// Findings of a record: those that hold it first, then known-exploited ones, likely ones, the worst; with the fix here.
import { Button, Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { call } from '../api/api.ts'
import { Empty, Failure } from './answer.tsx'
import { Foreign } from './foreign.tsx'
import { Exploited, SeverityMark, Toned } from './marks.tsx'
import { Rows } from './rows.tsx'
import { chance } from './words.ts'
import { useMay } from '../session/session.ts'
import type { PackageRecord } from './record.ts'

export type Finding = NonNullable<PackageRecord['cve_results']>[number]
const ACTION_ORDER = ['block', 'review', 'warn', 'allow']

export function inOrder(findings: readonly Finding[]): Finding[] {
  const rank = (finding: Finding) => (finding.accepted_by_decision ? 9 : ACTION_ORDER.indexOf(finding.action))
  return [...findings].sort(
    (a, b) =>
      rank(a) - rank(b) ||
      Number(b.in_kev) - Number(a.in_kev) ||
      (b.epss ?? 0) - (a.epss ?? 0) ||
      (b.cvss ?? 0) - (a.cvss ?? 0),
  )
}

/** @param compared whether the scan had anything to compare with */
export function FindingsTable({ findings, compared }: { findings: readonly Finding[] | null; compared: boolean }) {
  if (findings === null || (findings.length === 0 && !compared))
    return (
      <Empty title="Not scanned">
        <Toned tone="unknown">nothing is known about vulnerabilities of this version</Toned>
      </Empty>
    )
  if (findings.length === 0) return <Empty title="No findings">The coverage says what was compared.</Empty>
  return (
    <Rows
      of={inOrder(findings)}
      label="Findings"
      id={({ id }) => id}
      columns={[
        {
          head: 'Advisory',
          cell: ({ id, description, in_kev: exploited, urls }) => (
            <>
              {urls[0] ? (
                <a href={urls[0]} rel="noreferrer noopener" target="_blank">
                  {id}
                </a>
              ) : (
                id
              )}{' '}
              {exploited && <Exploited />}
              <Text size="xs" c="dimmed" maw={480}>
                <Foreign>{description}</Foreign>
              </Text>
            </>
          ),
        },
        { head: 'Severity', cell: ({ severity }) => <SeverityMark value={severity} /> },
        { head: 'CVSS', number: true, cell: ({ cvss }) => cvss ?? '' },
        { head: 'EPSS', number: true, cell: ({ epss }) => (epss === null ? '' : chance(epss)) },
        { head: 'Policy', cell: ({ action, accepted_by_decision: accepted }) => (accepted ? 'accepted' : action) },
        { head: 'Fix', cell: (finding) => <Fix finding={finding} /> },
      ]}
    />
  )
}

/** Where the fixed version is: here, in a synced source, with one click to import it, or only upstream. */
function Fix({ finding }: { finding: Finding }) {
  const queries = useQueryClient()
  const mayImport = useMay('uploader+')
  const { fix_available: fix, fix_versions: versions, fix_state: state } = finding
  const { fixed_here: here, fixed_waiting: waiting } = finding
  const fetchIt = useMutation({
    mutationFn: () => {
      const { source_id, package: name, version, arch, distribution } = fix as NonNullable<typeof fix>
      return call('POST /import/packages', { body: { source_id, package: name, version, arch, distribution } })
    },
    onSuccess: () => queries.invalidateQueries(),
  })
  if (fetchIt.data)
    return (
      <Link to="/packages/$name" params={{ name: fetchIt.data.package }} search={{ version: fetchIt.data.version }}>
        {`${fetchIt.data.version}: ${fetchIt.data.status}`}
      </Link>
    )
  return (
    <>
      {fetchIt.isError && <Failure error={fetchIt.error} />}
      {here || waiting ? (
        <>
          <span className="mono">{here ?? waiting}</span>{' '}
          {here ? <Toned tone="good">published here</Toned> : <Toned tone="care">waits for review here</Toned>}
        </>
      ) : fix ? (
        <>
          <span className="mono">{fix.version}</span> in {fix.source}{' '}
          {mayImport && (
            <Button size="compact-xs" variant="default" loading={fetchIt.isPending} onClick={() => fetchIt.mutate()}>
              Import it
            </Button>
          )}
        </>
      ) : versions.length > 0 ? (
        <span className="mono">{versions.slice(0, 3).join(', ')}</span>
      ) : (
        state.replace('-', ' ')
      )}
    </>
  )
}
