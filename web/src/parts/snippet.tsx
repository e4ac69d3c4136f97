// Text to copy: commands and configuration, exactly as the client tests run them.
import { Button, Code, Group } from '@mantine/core'
import { useState } from 'react'

export function Snippet({ text, label }: { text: string; label: string }) {
  const [copied, setCopied] = useState(false)
  const copy = () =>
    void navigator.clipboard.writeText(text).then(
      () => setCopied(true),
      () => setCopied(false),
    )
  return (
    <Group gap="xs" wrap="nowrap" align="flex-start" mb="xs">
      <Code block tabIndex={0} aria-label={label} style={{ flex: 1, minWidth: 0, overflowX: 'auto' }}>
        {text}
      </Code>
      <Button size="compact-sm" variant="default" onClick={copy} aria-label={`Copy: ${label}`}>
        {copied ? 'Copied' : 'Copy'}
      </Button>
    </Group>
  )
}
