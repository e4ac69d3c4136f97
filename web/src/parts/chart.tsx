// Small charts as inline SVG, each with its numbers as a table for screen readers.
import { useElementSize } from '@mantine/hooks'
import type { ReactNode } from 'react'

export interface Series {
  name: string
  color: string
  /** null: not known */
  values: readonly (number | null)[]
}

/** before it is measured */
const WIDTH = 640
const LEFT = 36
/** where the scale is written in units */
const LEFT_UNITS = 56
const BOTTOM = 18

/** Stacked bars, one for each label; `height` in pixels. */
export function Bars({
  title,
  labels,
  series,
  height = 140,
  show,
}: {
  title: string
  labels: readonly string[]
  series: readonly Series[]
  height?: number
  /** formats a number that has a unit */
  show?: (value: number) => string
}) {
  const left = show ? LEFT_UNITS : LEFT
  const written = (value: number) => show?.(value) ?? value
  // Drawn at its displayed width, so that its text has one size everywhere.
  const { ref, width: measured } = useElementSize<HTMLElement>()
  const width = Math.round(measured) || WIDTH
  const totals = labels.map((_, i) => series.reduce((sum, { values }) => sum + (values[i] ?? 0), 0))
  const top = ceiling(Math.max(1, ...totals))
  const room = height - BOTTOM - 8
  const step = (width - left) / Math.max(1, labels.length)
  const y = (value: number) => 8 + room - (value / top) * room
  return (
    <figure ref={ref} style={{ margin: 0 }}>
      <svg className="chart" viewBox={`0 0 ${width} ${height}`} role="img" aria-label={title} width="100%">
        {[0, top].map((value) => (
          <g key={value}>
            <line x1={left} x2={width} y1={y(value)} y2={y(value)} />
            <text x={left - 6} y={y(value) + 4} textAnchor="end">
              {written(value)}
            </text>
          </g>
        ))}
        {labels.map((label, i) => {
          let below = 0
          return (
            <g key={label}>
              {series.map(({ name, color, values }) => {
                const value = values[i] ?? 0
                if (value === 0) return null
                const from = below
                below += value
                return (
                  <rect
                    key={name}
                    x={left + i * step + 1}
                    width={Math.max(1, step - 2)}
                    y={y(below)}
                    height={y(from) - y(below)}
                    fill={color}
                  >
                    <title>{`${label}: ${written(value)} ${name}`}</title>
                  </rect>
                )
              })}
              {(i === 0 || i === labels.length - 1) && (
                <text x={left + (i + (i === 0 ? 0 : 1)) * step} y={height - 4} textAnchor={i === 0 ? 'start' : 'end'}>
                  {label}
                </text>
              )}
            </g>
          )
        })}
      </svg>
      <figcaption style={{ display: 'flex', gap: '1rem', flexWrap: 'wrap' }}>
        {series.map(({ name, color }) => (
          <span className="legend" key={name} style={{ ['--mark' as string]: color }}>
            {name}
          </span>
        ))}
      </figcaption>
      <div className="visually-hidden">
        <table>
          <caption>{title}</caption>
          <thead>
            <tr>
              <td />
              {series.map(({ name }) => (
                <th key={name}>{name}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {labels.map((label, i) => (
              <tr key={label}>
                <th>{label}</th>
                {series.map(({ name, values }) => (
                  <td key={name}>{cellOf(values[i], written)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </figure>
  )
}

const cellOf = (value: number | null | undefined, written: (value: number) => ReactNode) =>
  value === null ? 'not known' : written(value ?? 0)

export interface Lane {
  id: string
  label: ReactNode
  /** parts of the bar, from the left */
  parts: readonly { color: string; value: number }[]
  /** the text beside the bar */
  text: ReactNode
}

/**
 * A bar for each row, with its text beside it: a table that everybody reads. Bars share one scale from 0.
 * @param atLeast the least end of the scale, so that small values look small
 */
export function Lanes({
  title,
  heads,
  lanes,
  atLeast = 0,
}: {
  title: string
  heads: [string, string]
  lanes: readonly Lane[]
  atLeast?: number
}) {
  const longest = Math.max(...lanes.map(({ parts }) => parts.reduce((sum, { value }) => sum + value, 0)), atLeast)
  return (
    <table className="lanes">
      <caption>{title}</caption>
      <thead className="visually-hidden">
        <tr>
          <th>{heads[0]}</th>
          <td />
          <th>{heads[1]}</th>
        </tr>
      </thead>
      <tbody>
        {lanes.map(({ id, label, parts, text }) => (
          <tr key={id}>
            <th scope="row">{label}</th>
            <td aria-hidden="true">
              <svg viewBox="0 0 100 10" width="100%" height="12" preserveAspectRatio="none">
                {placed(parts, longest).map(({ color, from, share }, i) => (
                  <rect key={i} x={from} y={0} width={share} height={10} fill={color} />
                ))}
              </svg>
            </td>
            <td>{text}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/** The position of each part of a bar, in hundredths of the longest bar. A part that is not zero is always visible. */
function placed(parts: Lane['parts'], longest: number) {
  let from = 0
  return parts.flatMap(({ color, value }) => {
    if (value <= 0) return []
    const share = Math.max(0.5, (100 * value) / longest)
    const part = { color, from, share }
    from += share
    return [part]
  })
}

/** The next of 1, 2, 5, 10, 20, 50 … */
export function ceiling(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value))
  return [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= value) ?? value
}
