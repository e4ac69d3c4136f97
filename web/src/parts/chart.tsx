// Small pictures as inline SVG, each with its numbers as a table for screen readers.
export interface Series {
  name: string
  color: string
  values: readonly number[]
}

const WIDTH = 640
const LEFT = 36
const BOTTOM = 18

/** Stacked bars, one for each label; `height` in pixels. */
export function Bars({
  title,
  labels,
  series,
  height = 140,
}: {
  title: string
  labels: readonly string[]
  series: readonly Series[]
  height?: number
}) {
  const totals = labels.map((_, i) => series.reduce((sum, { values }) => sum + (values[i] ?? 0), 0))
  const top = ceiling(Math.max(1, ...totals))
  const room = height - BOTTOM - 8
  const step = (WIDTH - LEFT) / Math.max(1, labels.length)
  const y = (value: number) => 8 + room - (value / top) * room
  return (
    <figure style={{ margin: 0 }}>
      <svg className="chart" viewBox={`0 0 ${WIDTH} ${height}`} role="img" aria-label={title} width="100%">
        {[0, top].map((value) => (
          <g key={value}>
            <line x1={LEFT} x2={WIDTH} y1={y(value)} y2={y(value)} />
            <text x={LEFT - 6} y={y(value) + 4} textAnchor="end">
              {value}
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
                    x={LEFT + i * step + 1}
                    width={Math.max(1, step - 2)}
                    y={y(below)}
                    height={y(from) - y(below)}
                    fill={color}
                  >
                    <title>{`${label}: ${value} ${name}`}</title>
                  </rect>
                )
              })}
              {(i === 0 || i === labels.length - 1) && (
                <text x={LEFT + (i + (i === 0 ? 0 : 1)) * step} y={height - 4} textAnchor={i === 0 ? 'start' : 'end'}>
                  {label}
                </text>
              )}
            </g>
          )
        })}
      </svg>
      <figcaption style={{ display: 'flex', gap: '1rem', flexWrap: 'wrap' }}>
        {series.map(({ name, color }) => (
          <span className="mark" key={name} style={{ ['--mark' as string]: color }}>
            {name}
          </span>
        ))}
      </figcaption>
      <div className="visually-hidden">
        <table>
          <caption>{title}</caption>
          <thead>
            <tr>
              <th />
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
                  <td key={name}>{values[i] ?? 0}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </figure>
  )
}

/** The next of 1, 2, 5, 10, 20, 50 … */
export function ceiling(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value))
  return [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= value) ?? value
}
