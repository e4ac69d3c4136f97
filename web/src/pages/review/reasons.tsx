// The reason of a decision: what auditors read, with sentences for the most frequent reasons.
import { Button, Group, Textarea } from '@mantine/core'
import type { Ref } from 'react'

const PRESETS = {
  approve: [
    ['Not reachable', 'Not reachable: the affected code is not used here.'],
    ['Fix scheduled', 'Accepted until the fixed version is here, which is scheduled.'],
    ['False positive', 'False positive: the finding does not apply to this build.'],
  ],
  reject: [
    ['Known exploited', 'Known to be exploited.'],
    ['Fixed version exists', 'A fixed version exists: use that one.'],
    ['Not needed', 'Not needed here.'],
  ],
} as const

/** The sentence is added to what is typed already. */
const joined = (typed: string, sentence: string) => (typed.trim() === '' ? sentence : `${typed.trimEnd()} ${sentence}`)

interface ReasonProps {
  label?: string
  'data-autofocus'?: boolean
  kind: keyof typeof PRESETS
  value: string
  change: (reason: string) => void
  field?: Ref<HTMLTextAreaElement>
}

export function Reason({ kind, value, change, field, label = 'Reason', ...rest }: ReasonProps) {
  return (
    <div>
      <Textarea
        {...rest}
        ref={field}
        label={label}
        description="Auditors read it."
        required
        autosize
        minRows={2}
        maxRows={8}
        maxLength={2000}
        value={value}
        onChange={(event) => change(event.currentTarget.value)}
      />
      <Group gap={6} mt={6} role="group" aria-label="Presets">
        {PRESETS[kind].map(([word, sentence]) => (
          <Button key={word} size="compact-xs" variant="default" onClick={() => change(joined(value, sentence))}>
            {word}
          </Button>
        ))}
      </Group>
    </div>
  )
}
