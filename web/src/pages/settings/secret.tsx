// The control of a secret, which is never shown.
import { Button, Group, PasswordInput, Text } from '@mantine/core'
import { useState } from 'react'
import type { Common } from './fields.ts'

/** A secret is kept, replaced or cleared. */
export function Secret({
  value,
  stored,
  onChange,
  ...common
}: Common & { value: unknown; stored: unknown; onChange: (value: unknown) => void }) {
  const [replacing, setReplacing] = useState(false)
  const isSet = stored !== ''
  if (!replacing && value === stored)
    return <Unchanged {...common} isSet={isSet} onReplace={() => setReplacing(true)} onClear={() => onChange('')} />
  if (value === '' && isSet && !replacing)
    return (
      <Group gap="xs">
        <Text size="sm">{common.label}: will be cleared</Text>
        <Button size="compact-sm" variant="default" onClick={() => onChange(stored)}>
          Keep it
        </Button>
      </Group>
    )
  return (
    <Group gap="xs" align="flex-end">
      <PasswordInput
        {...common}
        flex={1}
        autoComplete="new-password"
        autoFocus
        value={value === stored ? '' : String(value)}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
      <Button
        variant="default"
        onClick={() => {
          setReplacing(false)
          onChange(stored)
        }}
      >
        Keep
      </Button>
    </Group>
  )
}

function Unchanged({
  label,
  description,
  isSet,
  onReplace,
  onClear,
}: Common & { isSet: boolean; onReplace: () => void; onClear: () => void }) {
  return (
    <div>
      <Text size="sm" fw={500}>
        {label}
      </Text>
      <Text size="xs" c="dimmed">
        {description}
      </Text>
      <Group gap="xs" mt={4}>
        <Text size="sm">{isSet ? 'set' : 'not set'}</Text>
        <Button
          size="compact-sm"
          variant="default"
          onClick={onReplace}
          aria-label={`${isSet ? 'Replace' : 'Set'} ${label}`}
        >
          {isSet ? 'Replace' : 'Set'}
        </Button>
        {isSet && (
          <Button size="compact-sm" variant="default" onClick={onClear} aria-label={`Clear ${label}`}>
            Clear
          </Button>
        )}
      </Group>
    </div>
  )
}
