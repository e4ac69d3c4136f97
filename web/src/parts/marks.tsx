// States as a word with a mark. Unscanned packages get grey stripes and the word, never a colour that means "fine".
import type { CSSProperties } from 'react'
import { SEVERITIES, SEVERITY_COLORS, STATUSES, VERDICTS, type Severity, type Tone } from './words.ts'

const TONES: Record<Tone, string> = {
  good: 'var(--mantine-color-teal-7)',
  care: 'var(--mantine-color-yellow-7)',
  bad: 'var(--mantine-color-red-8)',
  unknown: '',
}

export function Mark({ color, unknown = false, children }: { color?: string; unknown?: boolean; children: string }) {
  return (
    <span className="mark" data-unknown={unknown || undefined} style={{ '--mark': color } as CSSProperties}>
      {children}
    </span>
  )
}

export function Toned({ tone, children }: { tone: Tone; children: string }) {
  return (
    <Mark color={TONES[tone]} unknown={tone === 'unknown'}>
      {children}
    </Mark>
  )
}

export function Status({ value }: { value: string }) {
  const known = STATUSES[value as keyof typeof STATUSES] as (typeof STATUSES)[keyof typeof STATUSES] | undefined
  return <Mark color={known?.color}>{known?.word ?? value}</Mark>
}

/** A verdict of the gate, by its key in `pipeline`. */
export function Verdict({ value }: { value: string }) {
  const known = VERDICTS[value]
  return <Toned tone={known?.tone ?? 'unknown'}>{known?.word ?? value}</Toned>
}

export function SeverityMark({ value }: { value: string }) {
  const severity = value.toLowerCase() as Severity
  return (
    <Mark color={SEVERITY_COLORS[severity]} unknown={severity === 'unknown'}>
      {severity}
    </Mark>
  )
}

/** Findings by severity. `null` counts are "not scanned", which is not the same as none. */
export function Findings({ counts, scanned }: { counts: Partial<Record<Severity, number>> | null; scanned: boolean }) {
  const found = SEVERITIES.flatMap((severity) => {
    const n = counts?.[severity] ?? 0
    return n > 0 ? [{ severity, n }] : []
  })
  if (found.length === 0)
    return scanned ? <Toned tone="good">no findings</Toned> : <Toned tone="unknown">not scanned</Toned>
  return (
    <span style={{ display: 'inline-flex', gap: '0.8em', flexWrap: 'wrap' }}>
      {found.map(({ severity, n }) => (
        <Mark key={severity} color={SEVERITY_COLORS[severity]}>
          {`${n} ${severity}`}
        </Mark>
      ))}
      {!scanned && <Toned tone="unknown">last scan incomplete</Toned>}
    </span>
  )
}
