// A form about one thing that others may change meanwhile.
import type { UseQueryResult } from '@tanstack/react-query'
import { useState, type ReactNode } from 'react'
import { Answer } from './answer.tsx'

/**
 * Keeps the answer that the form opened with: a later one has another state, and would hide what somebody else changed.
 * @param children the form, and what shows the present values in it; what was typed is lost then
 */
export function Edited<T>({
  of,
  rows = 5,
  children,
}: {
  of: UseQueryResult<T>
  rows?: number
  children: (opened: T, load: () => void) => ReactNode
}) {
  const [round, setRound] = useState(0)
  const load = () => void of.refetch().then(() => setRound((now) => now + 1))
  return (
    <Answer of={of} rows={rows}>
      {(data) => (
        <Opened key={round} data={data}>
          {(opened) => children(opened, load)}
        </Opened>
      )}
    </Answer>
  )
}

function Opened<T>({ data, children }: { data: T; children: (opened: T) => ReactNode }) {
  const [opened] = useState(data)
  return children(opened)
}
