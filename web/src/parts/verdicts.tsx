// The gate's results, step by step, with the coverage of each scan.
import { Text } from '@mantine/core'
import { Foreign } from './foreign.tsx'
import { Toned } from './marks.tsx'
import { utcDay } from './when.tsx'
import { count, STEPS, type Tone } from './words.ts'
import type { PackageRecord } from './record.ts'

type Step = PackageRecord['validation_steps'][number]

export function Verdicts({ record }: { record: Pick<PackageRecord, 'validation_steps'> }) {
  return (
    <div className="scroll-x" tabIndex={0} role="region" aria-label="Checks" style={{ marginBottom: '1.5rem' }}>
      <table className="rows checks">
        <thead>
          <tr>
            <th>Check</th>
            <th>Result</th>
            <th>Coverage</th>
          </tr>
        </thead>
        <tbody>
          {record.validation_steps.map((step) => (
            <tr key={step.name}>
              <th scope="row">{STEPS[step.name] ?? step.name}</th>
              <td>
                <Toned tone={toneOf(step)}>{step.message || (step.passed ? 'passed' : 'failed')}</Toned>
              </td>
              <td>{step.coverage ? <Coverage of={step.coverage} /> : null}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

const SCANS = new Set(['antivirus', 'cve', 'cve_scan'])

/** An incomplete scan is shown as unknown, not as good. */
function toneOf({ name, passed, warning, coverage }: Step): Tone {
  if (SCANS.has(name) && !saw(coverage)) return 'unknown'
  if (!passed) return 'bad'
  return warning ? 'care' : 'good'
}

/** Whether a scan read everything it was given and had data to compare it with. */
export function saw(coverage: Step['coverage'] | null): boolean {
  if (!coverage?.engine || coverage.files_skipped.length > 0) return false
  return (
    coverage.result !== 'limited' &&
    coverage.result !== 'no_data' &&
    (coverage.files_seen > 0 || coverage.database_date !== null)
  )
}

export function Coverage({ of }: { of: NonNullable<Step['coverage']> }) {
  if (of.engine === null) return <Text size="sm">nothing scanned it</Text>
  return (
    <Text size="sm" component="div">
      {[of.engine, of.engine_version].filter(Boolean).join(' ')}
      {!of.database_date && of.files_seen === 0 && ', compared with nothing'}
      {of.database_date && `, data of ${utcDay(of.database_date)}`}
      {of.distro_matched && `, for ${of.distro_matched}`}
      {of.files_seen > 0 && `, ${count(of.files_seen, 'file')}`}
      {of.files_skipped.length > 0 && (
        <details>
          <summary>{count(of.files_skipped.length, 'file')} not scanned</summary>
          <ul style={{ margin: 0, paddingLeft: '1.2em' }}>
            {of.files_skipped.slice(0, 50).map(({ name, reason }) => (
              <li key={name}>
                <span className="mono">
                  <Foreign>{name}</Foreign>
                </span>
                : <Foreign>{reason}</Foreign>
              </li>
            ))}
          </ul>
        </details>
      )}
    </Text>
  )
}
