// The daily run of all mirrors: its time and its limits.
import { Button, Group, Modal, NumberInput, Stack, Switch, Text, TextInput } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call, read, type Answered } from '../../api/api.ts'
import { Answer, Failure } from '../../parts/answer.tsx'
import { Form } from '../../parts/form.tsx'
import { Toned } from '../../parts/marks.tsx'
import { Section } from '../../parts/page.tsx'
import { distance, utc } from '../../parts/when.tsx'
import { count } from '../../parts/words.ts'
import { useMay } from '../../session/session.ts'

type Schedule = Answered<'GET /import/mirror/schedule'>

export function DailyRun() {
  const schedule = useQuery(read('GET /import/mirror/schedule'))
  const mayChange = useMay('maintainer+')
  const [open, setOpen] = useState(false)
  return (
    <Section
      title="Daily run"
      actions={
        mayChange && (
          <Button size="compact-sm" variant="default" onClick={() => setOpen(true)}>
            Change the daily run
          </Button>
        )
      }
    >
      <Answer of={schedule} rows={1}>
        {(data) => (
          <>
            <Toned tone={data.enabled ? 'good' : 'unknown'}>
              {data.enabled
                ? data.next_run
                  ? `next ${distance(data.next_run)}, ${utc(data.next_run)}`
                  : 'switched on'
                : 'switched off: mirrors run when somebody starts them'}
            </Toned>
            <Text size="sm" c="dimmed">
              {`A run brings at most ${count(data.max_packages_per_run, 'package')} in ${count(data.max_runtime_minutes, 'minute')}, and leaves ${data.min_free_disk_gb} GB of the disk free.`}
            </Text>
            {open && <ScheduleForm schedule={data} close={() => setOpen(false)} />}
          </>
        )}
      </Answer>
    </Section>
  )
}

const LIMITS = [
  { key: 'max_packages_per_run', label: 'Most packages of a run', min: 1, max: 100_000 },
  { key: 'max_runtime_minutes', label: 'Longest time of a run, in minutes', min: 1, max: 1440 },
  { key: 'min_free_disk_gb', label: 'Disk space that stays free, in GB', min: 0, max: 100_000 },
] as const

function ScheduleForm({ schedule, close }: { schedule: Schedule; close: () => void }) {
  const queries = useQueryClient()
  const { hour, minute } = schedule
  const [enabled, setEnabled] = useState(schedule.enabled)
  const [time, setTime] = useState(`${String(hour).padStart(2, '0')}:${String(minute).padStart(2, '0')}`)
  const [limits, setLimits] = useState<Record<(typeof LIMITS)[number]['key'], number | string>>(schedule)
  const save = useMutation({
    mutationFn: () => {
      const [hours, minutes] = time.split(':').map(Number)
      return call('POST /import/mirror/schedule', {
        body: {
          enabled,
          ...{ hour: hours, minute: minutes },
          ...Object.fromEntries(LIMITS.map(({ key }) => [key, limits[key]])),
        },
      })
    },
    onSuccess: async () => {
      await queries.invalidateQueries()
      close()
    },
  })
  return (
    <Modal opened onClose={close} title="The daily run of mirrors">
      <Form send={() => save.mutate()}>
        <Stack>
          {save.isError && <Failure error={save.error} />}
          <Switch
            label="Run every day"
            checked={enabled}
            onChange={(event) => setEnabled(event.currentTarget.checked)}
          />
          <TextInput
            type="time"
            label="At"
            description="In the time zone of settings.sync.timezone."
            required
            value={time}
            onChange={(event) => setTime(event.currentTarget.value)}
          />
          {LIMITS.map(({ key, label, min, max }) => (
            <NumberInput
              key={key}
              label={label}
              required
              allowDecimal={false}
              min={min}
              max={max}
              value={limits[key]}
              onChange={(value) => setLimits({ ...limits, [key]: value })}
            />
          ))}
          <Group>
            <Button type="submit" loading={save.isPending}>
              Save
            </Button>
            <Button variant="default" onClick={close}>
              Cancel
            </Button>
          </Group>
        </Stack>
      </Form>
    </Modal>
  )
}
