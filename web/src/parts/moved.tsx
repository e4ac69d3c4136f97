// A form whose subject somebody else changed while it was open: what it is now, and how to go on.
import { Alert, Button, Text } from '@mantine/core'
import { ApiError } from '../api/problem.ts'
import { Failure } from './answer.tsx'
import { differences } from './differences.ts'
import { Foreign } from './foreign.tsx'
import { When } from './when.tsx'
import { sentence } from './words.ts'

/**
 * @param opened what the form showed at first
 * @param load shows the present values in the form; what was typed is lost
 */
export function Moved({ error, opened, load }: { error: unknown; opened: object; load: () => void }) {
  if (!(error instanceof ApiError) || error.problem.code !== 'changed_meanwhile') return <Failure error={error} />
  const {
    current = {},
    updated_by: by,
    updated_at: at,
  } = error.problem.body as {
    current?: Record<string, unknown>
    updated_by?: string | null
    updated_at?: string | null
  }
  return (
    <Alert color="yellow" variant="outline" role="alert">
      <Text size="sm">
        {by ? <Foreign>{by}</Foreign> : 'Somebody else'} changed this while the form was open
        {at && (
          <>
            {' '}
            (<When at={at} />)
          </>
        )}
        . Nothing was saved, and what you typed is still here.
      </Text>
      {differences(current, { ...opened }).map(([key, value]) => (
        <Text size="sm" key={key} style={{ overflowWrap: 'anywhere' }}>
          {sentence(key)} is now{' '}
          <b>
            <Foreign>{shown(value)}</Foreign>
          </b>
        </Text>
      ))}
      <Button size="compact-sm" variant="default" mt="xs" onClick={load}>
        Load what it is now
      </Button>
    </Alert>
  )
}

const shown = (value: unknown) => (typeof value === 'string' ? value || 'empty' : JSON.stringify(value))
