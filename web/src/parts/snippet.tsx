// Text to copy: commands and configuration, identical to those that the client tests run.
import { Button, Code, Group, Stack, Text } from '@mantine/core'
import { useEffect, useRef, useState } from 'react'
import { copy } from './copy.ts'

const SHOWN_MS = 4_000

export function Snippet({ text, label }: { text: string; label: string }) {
  const code = useRef<HTMLElement>(null)
  const [result, setResult] = useState<'copied' | 'selected' | null>(null)
  useEffect(() => {
    if (result !== 'copied') return
    const timer = setTimeout(() => setResult(null), SHOWN_MS)
    return () => clearTimeout(timer)
  }, [result])
  const press = () => void copy(text, code.current).then((done) => setResult(done ? 'copied' : 'selected'))
  return (
    <Group gap="xs" wrap="nowrap" align="flex-start" mb="xs">
      <Code ref={code} block tabIndex={0} aria-label={label} style={{ flex: 1, minWidth: 0, overflowX: 'auto' }}>
        {text}
      </Code>
      <Stack gap={4} align="flex-start">
        <Button size="compact-sm" variant="default" onClick={press} aria-label={`Copy: ${label}`}>
          Copy
        </Button>
        <Text size="xs" role="status">
          {result === 'copied' ? 'Copied' : result === 'selected' ? 'Selected: press Ctrl+C' : ''}
        </Text>
      </Stack>
    </Group>
  )
}
