// What a page shows while a query runs, when it fails, and when the result is empty.
import { Alert, Button, Group, Skeleton, Stack, Text } from '@mantine/core'
import { useEffect, useState, type ReactNode } from 'react'
import type { UseQueryResult } from '@tanstack/react-query'
import { problemOf } from '../api/problem.ts'
import { Foreign } from './foreign.tsx'

/** The answer of a query. Old rows stay, marked as such, while another page or filter loads; the skeleton comes after 200 ms. */
export function Answer<T>({
  of,
  rows = 6,
  children,
}: {
  of: UseQueryResult<T>
  rows?: number
  children: (data: T) => ReactNode
}) {
  if (of.data !== undefined)
    return (
      <>
        {of.isError && <Failure error={of.error} retry={() => void of.refetch()} />}
        <div className="answer" aria-busy={of.isPlaceholderData || undefined}>
          {children(of.data)}
        </div>
      </>
    )
  if (of.isError) return <Failure error={of.error} retry={() => void of.refetch()} />
  return <Waiting rows={rows} />
}

export function Waiting({ rows = 6 }: { rows?: number }) {
  const [late, setLate] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), 200)
    return () => clearTimeout(timer)
  }, [])
  return (
    <Stack gap="xs" role="group" aria-busy="true" aria-label="Loading">
      {late && Array.from({ length: rows }, (_, i) => <Skeleton key={i} height={24} />)}
    </Stack>
  )
}

/** An error in the words of the server, with the request id for the log, and a way to continue. */
export function Failure({ error, retry }: { error: unknown; retry?: () => void }) {
  const problem = problemOf(error)
  const wait = useCountdown(problem.retryAfter)
  return (
    <Alert color="red" variant="outline" title={TITLES[problem.code] ?? 'That did not work'} mb="md" role="alert">
      <Text size="sm">
        <Foreign>{problem.detail}</Foreign>
      </Text>
      {problem.errors.map(({ field, message }) => (
        <Text size="sm" key={`${field} ${message}`}>
          <b>{field}</b>: {message}
        </Text>
      ))}
      <Group gap="md" mt="xs">
        {retry && (
          <Button size="compact-sm" variant="default" onClick={retry} disabled={wait > 0}>
            {wait > 0 ? `Retry in ${wait} s` : 'Retry'}
          </Button>
        )}
        {problem.requestId && (
          <Text size="xs" c="dimmed" className="mono">
            {problem.code} · request {problem.requestId}
          </Text>
        )}
      </Group>
    </Alert>
  )
}

const TITLES: Record<string, string> = {
  rate_limited: 'Too many requests',
  forbidden: 'Your role does not allow this',
  not_found: 'Not found',
  passive_replica: 'This replica does not do that',
  network_error: 'The service cannot be reached',
}

function useCountdown(seconds: number): number {
  const [left, setLeft] = useState(seconds)
  useEffect(() => {
    setLeft(seconds)
    if (seconds <= 0) return
    const timer = setInterval(() => setLeft((now) => Math.max(0, now - 1)), 1000)
    return () => clearInterval(timer)
  }, [seconds])
  return left
}

/** Why a list is empty, and what to do next. */
export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <Stack gap={4} py="xl">
      <Text fw={600}>{title}</Text>
      {children && (
        <Text size="sm" c="dimmed" component="div">
          {children}
        </Text>
      )}
    </Stack>
  )
}
