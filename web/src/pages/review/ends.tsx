// How long an approval is valid.
import { Group, SegmentedControl, Text, TextInput } from '@mantine/core'
import { choicesWith, firstDay, wrongEnding, type Ending, type Suggested } from './ending.ts'

interface EndsProps {
  ending: Ending
  now: number
  choose: (ending: Ending) => void
  suggested: Suggested
}

export function Ends({ ending, now, choose, suggested }: EndsProps) {
  const wrong = wrongEnding(ending, now)
  return (
    <Group align="flex-end">
      <div style={{ maxWidth: '100%', overflowX: 'auto' }}>
        <Text size="sm" fw={500} id="expiry">
          Ends
        </Text>
        <SegmentedControl
          aria-labelledby="expiry"
          value={ending.choice}
          onChange={(choice) => choose({ ...ending, choice })}
          data={choicesWith(suggested.ending.choice).map((value) => ({
            value,
            label: value === 'none' ? 'no end' : value === 'date' ? 'date' : `${value} d`,
          }))}
        />
        {suggested.why && ending.choice === suggested.ending.choice && (
          <Text size="xs" c="dimmed">
            {suggested.why}
          </Text>
        )}
      </div>
      {ending.choice === 'date' && (
        <TextInput
          type="date"
          label="Last day"
          required
          min={firstDay(now)}
          value={ending.day}
          onChange={(event) => choose({ ...ending, day: event.currentTarget.value })}
          // Red is only for typed input; an empty field just says what is missing.
          description={ending.day === '' ? wrong : undefined}
          error={ending.day === '' ? undefined : wrong}
        />
      )}
    </Group>
  )
}
