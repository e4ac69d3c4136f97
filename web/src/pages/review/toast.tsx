// A note about the last decision, with a minute to undo it.
import { Button, CloseButton, Group, Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { call } from '../../api/api.ts'
import { problemOf } from '../../api/problem.ts'
import { inParts } from './in-parts.ts'
import { told, toldUndone, UNDO_MS, undoneItems, waitAgain, type Made } from './made.ts'

export interface JustMade extends Made {
  /** ids of the rows that it took out of the queue */
  rows: string[]
}

/** @param onUndone called with the rows that wait again */
export function useUndo(made: JustMade | null, onUndone: (rows: string[]) => void) {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: async ({ ids }: JustMade) =>
      undoneItems(await inParts(ids, (part) => call('POST /security/decisions/undo', { body: { ids: part } })), ids),
    onSuccess: async (items, { rows }) => {
      onUndone(waitAgain(rows, items))
      await queries.invalidateQueries({ queryKey: ['GET /security/packages/{name}/{version}/evidence'] })
      void queries.invalidateQueries({ queryKey: ['GET /dashboard/summary'] })
    },
    mutationKey: ['undo', made?.at],
  })
}

interface ToastProps {
  made: JustMade
  undo: ReturnType<typeof useUndo>
  close: () => void
}

export function Toast({ made, undo, close }: ToastProps) {
  const left = useSecondsLeft(made.at)
  const isOver = left <= 0
  const isUndone = undo.isSuccess && undo.variables.at === made.at
  // The outcome of an attempt stays until the next decision or a click; the offer goes when it is over.
  useEffect(() => {
    if (isOver && undo.isIdle) close()
  }, [isOver, undo.isIdle, close])
  const text = isUndone
    ? toldUndone(made.what, undo.data)
    : undo.isError
      ? `Not undone: ${problemOf(undo.error).detail}`
      : told(made)
  return (
    <Group className="toast" gap="sm" wrap="nowrap">
      <Text size="sm" role="status">
        {text}
      </Text>
      {!isUndone && !isOver && (
        <Button size="compact-sm" variant="default" loading={undo.isPending} onClick={() => undo.mutate(made)}>
          {`Undo (${left} s)`}
        </Button>
      )}
      <CloseButton size="sm" aria-label="Close this note" onClick={close} />
    </Group>
  )
}

function useSecondsLeft(from: number): number {
  const leftAt = () => Math.ceil((from + UNDO_MS - Date.now()) / 1000)
  const [left, setLeft] = useState(leftAt)
  useEffect(() => {
    setLeft(leftAt())
    const timer = setInterval(() => setLeft(leftAt()), 1000)
    return () => clearInterval(timer)
  }, [from])
  return left
}
