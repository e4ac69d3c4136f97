// The growth of the pool, from the daily sample of the service. Read when somebody scrolls to it.
import { Text } from '@mantine/core'
import { useInViewport } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { read, type Answered } from '../../api/api.ts'
import { Answer } from '../../parts/answer.tsx'
import { Bars } from '../../parts/chart.tsx'
import { Section } from '../../parts/page.tsx'
import { utcDay } from '../../parts/when.tsx'
import { bytes, count } from '../../parts/words.ts'

const DAYS = 90

export function PoolGrowth() {
  const { ref, inViewport } = useInViewport()
  const history = useQuery({ ...read('GET /dashboard/history', { query: { days: DAYS } }), enabled: inViewport })
  return (
    <div ref={ref}>
      <Section title="Growth of the pool">
        <Answer of={history}>{({ history: days }) => <Growth of={days} />}</Answer>
      </Section>
    </div>
  )
}

function Growth({ of: all }: { of: Answered<'GET /dashboard/history'>['history'] }) {
  // Nothing was recorded before the service ran.
  const days = all.slice(all.findIndex((day) => day.pool_bytes !== null))
  const [first, last] = [days[0], days.at(-1)]
  if (first?.pool_bytes == null || last?.pool_bytes == null) return <Text size="sm">Nothing is recorded yet.</Text>
  return (
    <div style={{ maxWidth: 760 }}>
      <Text size="sm" mb="xs">
        {`${count(last.pool_packages ?? 0, 'package')}, ${bytes(last.pool_bytes)}. `}
        {days.length === 1
          ? 'This is the first day that is recorded.'
          : `${change(last.pool_bytes - first.pool_bytes)} since ${utcDay(first.date)}.`}
      </Text>
      <Bars
        title="Size of the pool at the end of each day"
        labels={days.map(({ date }) => utcDay(date))}
        show={bytes}
        series={[{ name: 'stored', color: 'var(--mantine-color-indigo-6)', values: days.map((day) => day.pool_bytes) }]}
      />
    </div>
  )
}

const change = (more: number) => (more < 0 ? `${bytes(-more)} less` : `${bytes(more)} more`)
