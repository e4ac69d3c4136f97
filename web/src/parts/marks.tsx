// States as a word with an icon. Unscanned packages get a dashed ring and the word, never a colour that means "fine".
import {
  Ban,
  CircleCheck,
  CircleDashed,
  Flame,
  Hourglass,
  OctagonX,
  ShieldX,
  TriangleAlert,
  type LucideIcon,
} from 'lucide-react'
import type { CSSProperties, ReactNode } from 'react'
import { eventWords } from './events.ts'
import { shown } from './foreign.tsx'
import { SEVERITIES, SEVERITY_COLORS, STATUSES, VERDICTS, type Severity, type Tone } from './words.ts'

const TONES: Record<Tone, { color: string; icon: LucideIcon }> = {
  good: { color: 'var(--gh-good)', icon: CircleCheck },
  care: { color: 'var(--gh-care)', icon: TriangleAlert },
  bad: { color: 'var(--gh-bad)', icon: OctagonX },
  unknown: { color: 'var(--mantine-color-dimmed)', icon: CircleDashed },
}

const STATUS_ICONS: Record<string, LucideIcon> = {
  published: CircleCheck,
  pending_review: Hourglass,
  quarantined: ShieldX,
  rejected: Ban,
}

interface MarkProps {
  color: string | undefined
  icon?: ReactNode
  children: string
}

export function Mark({ color, icon = <span className="dot" />, children }: MarkProps) {
  return (
    <span className="mark" style={{ '--mark': color } as CSSProperties}>
      {icon}
      {shown(children)}
    </span>
  )
}

export function Toned({ tone, children }: { tone: Tone; children: string }) {
  const { color, icon: Icon } = TONES[tone]
  return (
    <Mark color={color} icon={<Icon size={14} aria-hidden />}>
      {children}
    </Mark>
  )
}

export function Status({ value }: { value: string }) {
  const known = STATUSES[value as keyof typeof STATUSES] as (typeof STATUSES)[keyof typeof STATUSES] | undefined
  const Icon = STATUS_ICONS[value] ?? CircleDashed
  return (
    <Mark color={known?.color} icon={<Icon size={14} aria-hidden />}>
      {known?.word ?? value}
    </Mark>
  )
}

/** A finding that attackers use. @param children other words, such as how many */
export function Exploited({ children = 'known exploited' }: { children?: string }) {
  return (
    <Mark color="var(--gh-bad)" icon={<Flame size={14} aria-hidden />}>
      {children}
    </Mark>
  )
}

/** An entry of the audit log: what happened, and whether it succeeded. */
export function Event({ of: entry }: { of: Parameters<typeof eventWords>[0] }) {
  const { text, tone } = eventWords(entry)
  return <Toned tone={tone}>{text}</Toned>
}

/** A verdict of the gate, by its key in `pipeline`. */
export function Verdict({ value }: { value: string }) {
  const known = VERDICTS[value]
  return <Toned tone={known?.tone ?? 'unknown'}>{known?.word ?? value}</Toned>
}

export function SeverityMark({ value }: { value: string }) {
  const severity = value.toLowerCase() as Severity
  return (
    <Mark color={SEVERITY_COLORS[severity]} icon={<Bars of={severity} />}>
      {severity}
    </Mark>
  )
}

const BARS: Partial<Record<Severity, number>> = { critical: 4, high: 3, medium: 2, low: 1 }

/** Severity as one to four filled bars, so that it is seen without its colour; unknown is a dashed ring. */
function Bars({ of: severity }: { of: Severity }) {
  if (severity === 'unknown') return <CircleDashed size={14} aria-hidden />
  const filled = BARS[severity] ?? 0
  return (
    <svg width="14" height="12" viewBox="0 0 14 12" aria-hidden="true">
      {[0, 1, 2, 3].map((n) => (
        <rect
          key={n}
          x={n * 3.5}
          y={9 - n * 3}
          width="2.5"
          height={3 + n * 3}
          rx="0.6"
          fill={n < filled ? 'currentColor' : 'var(--gh-line)'}
        />
      ))}
    </svg>
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
        <Mark key={severity} color={SEVERITY_COLORS[severity]} icon={<Bars of={severity} />}>
          {`${n} ${severity}`}
        </Mark>
      ))}
      {!scanned && <Toned tone="unknown">last scan incomplete</Toned>}
    </span>
  )
}
