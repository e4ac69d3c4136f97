// Copies every published package of a distribution into another one.
import { Button, Group, Modal, Select, Stack, Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../api/api.ts'
import { Failure } from '../../parts/answer.tsx'
import { useDistributions } from '../../parts/distributions.ts'
import { count } from '../../parts/words.ts'

export function Migrate({ from }: { from: string }) {
  const [opened, setOpened] = useState(false)
  const [target, setTarget] = useState<string | null>(null)
  const queries = useQueryClient()
  const distributions = useDistributions().data?.distributions ?? []
  const own = distributions.find(({ codename }) => codename === from)
  const targets = distributions.filter(
    ({ codename, format, active }) => active && format === own?.format && codename !== from,
  )
  const migrate = useMutation({
    mutationFn: (to: string) => call('POST /distributions/migrate', { body: { from_dist: from, to_dist: to } }),
    onSuccess: () => queries.invalidateQueries(),
  })
  return (
    <>
      <Button variant="default" onClick={() => setOpened(true)}>
        Migrate
      </Button>
      <Modal opened={opened} onClose={() => setOpened(false)} title={`Copy all of ${from}`}>
        <Stack>
          <Select
            label="Into"
            data={targets.map(({ codename }) => codename)}
            value={target}
            onChange={setTarget}
            searchable
            data-autofocus
          />
          <Text size="sm" c="dimmed">
            All {count(own?.package_count ?? 0, 'published package')} are copied with their verdicts and decisions and
            published together. {from} stays as it is.
          </Text>
          {migrate.isError && <Failure error={migrate.error} />}
          {migrate.data && (
            <Text size="sm" role="status">
              {`${count(migrate.data.migrated, 'package')} copied, ${migrate.data.skipped} were there, ${migrate.data.failed} failed.`}
            </Text>
          )}
          <Group>
            <Button
              disabled={!target || migrate.isSuccess}
              loading={migrate.isPending}
              onClick={() => target && migrate.mutate(target)}
            >
              {migrate.isPending ? 'Publishing…' : 'Copy'}
            </Button>
            <Button variant="default" onClick={() => setOpened(false)}>
              Close
            </Button>
          </Group>
        </Stack>
      </Modal>
    </>
  )
}
