// The last lines of a task, read again while it runs.
import { Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { read } from '../../api/api.ts'
import { Answer, Empty } from '../../parts/answer.tsx'
import { Foreign } from '../../parts/foreign.tsx'
import { utc } from '../../parts/when.tsx'
import { count } from '../../parts/words.ts'

const RUNNING_MS = 2_000

export function TaskLog({ id }: { id: number }) {
  const task = useQuery({
    ...read('GET /tasks/{id}', { params: { id } }),
    refetchInterval: ({ state: { data } }) => (data?.finished_at ? false : RUNNING_MS),
  })
  return (
    <Answer of={task}>
      {({ lines, lines_total: total, error }) => (
        <>
          {error && (
            <Text size="sm" role="alert" mb="sm">
              <Foreign>{error.detail}</Foreign>
            </Text>
          )}
          {total > lines.length && (
            <Text size="sm" c="dimmed" mb="sm">
              The last {lines.length} of {count(total, 'line')}.
            </Text>
          )}
          {lines.length === 0 ? (
            <Empty title="No lines yet" />
          ) : (
            <ol className="paths mono" aria-label="Log">
              {lines.map(({ seq, at, level, message }) => (
                <li key={seq}>
                  <time dateTime={at}>{utc(at)}</time> {level === 'info' ? '' : `${level}: `}
                  <Foreign>{message}</Foreign>
                </li>
              ))}
            </ol>
          )}
        </>
      )}
    </Answer>
  )
}
