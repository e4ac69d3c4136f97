// Announces that a list has changed. Rows never move under the cursor by themselves.
import { Button, Kbd } from '@mantine/core'
import { keysAreOn } from './keys.ts'

export function News({ count, show }: { count: number; show: () => void }) {
  return (
    <div role="status" style={{ marginBottom: count > 0 ? '0.5rem' : 0 }}>
      {count > 0 && (
        <Button
          size="compact-sm"
          variant="default"
          onClick={show}
          rightSection={keysAreOn() ? <Kbd size="xs">.</Kbd> : undefined}
        >
          {count === 1 ? '1 change' : `${count} changes`}, show
        </Button>
      )}
    </div>
  )
}
