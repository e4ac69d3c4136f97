// The versions in each distribution: rows are versions, columns distributions. A cell is the status and the worst finding.
import { getRouteApi, Link } from '@tanstack/react-router'
import { SeverityMark, Status } from '../../parts/marks.tsx'
import { SEVERITIES } from '../../parts/words.ts'
import type { Detail, PackageRecord } from '../../parts/record.ts'

const route = getRouteApi('/packages/$name')

export function Matrix({ detail, shown }: { detail: Detail; shown: PackageRecord }) {
  const versions = [...new Set(detail.versions.map(({ version }) => version))]
  const { name } = detail
  const { tab } = route.useSearch()
  const distributions = [...new Set(detail.versions.map(({ distribution }) => distribution))].sort()
  return (
    <div
      className="scroll-x"
      tabIndex={0}
      role="region"
      aria-label="Versions by distribution"
      style={{ marginBottom: '1.5rem' }}
    >
      <table className="rows" style={{ width: 'auto' }}>
        <thead>
          <tr>
            <th>Version</th>
            {distributions.map((distribution) => (
              <th key={distribution}>
                <Link to="/distributions/$codename" params={{ codename: distribution }}>
                  {distribution}
                </Link>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {versions.map((version) => (
            <tr key={version} data-selected={version === shown.version || undefined}>
              <th scope="row">
                <Link to="/packages/$name" params={{ name }} search={{ version, tab }} className="mono">
                  {version}
                </Link>
              </th>
              {distributions.map((distribution) => (
                <td key={distribution}>
                  <Cell
                    shown={shown}
                    records={detail.versions.filter(
                      (one) => one.version === version && one.distribution === distribution,
                    )}
                  />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {detail.versions_total > detail.versions.length && (
        <p>{`The ${detail.versions.length} latest of ${detail.versions_total} records.`}</p>
      )}
    </div>
  )
}

function Cell({ records, shown }: { records: readonly PackageRecord[]; shown: PackageRecord }) {
  const { tab } = route.useSearch()
  return records.map((record) => {
    const worst = SEVERITIES.find((severity) =>
      record.cve_results?.some((finding) => finding.severity.toLowerCase() === severity),
    )
    return (
      <div key={record.arch} style={{ display: 'flex', gap: '0.6em' }}>
        <Link
          to="/packages/$name"
          params={{ name: record.name }}
          search={{ version: record.version, distribution: record.distribution, arch: record.arch, tab }}
          aria-current={record === shown || undefined}
        >
          <Status value={record.status} />
          <span className="visually-hidden">{`: ${record.version} in ${record.distribution}, ${record.arch}`}</span>
        </Link>
        {records.length > 1 && <span>{record.arch}</span>}
        {worst && <SeverityMark value={worst} />}
      </div>
    )
  })
}
