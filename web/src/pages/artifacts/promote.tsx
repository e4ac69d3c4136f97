// Copies the package into another distribution: choose the target, read the preview, confirm.
import { Button, Group, Modal, Select, Stack, Text } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call, read } from '../../api/api.ts'
import { Answer, Failure } from '../../parts/answer.tsx'
import { useDistributions } from '../../parts/distributions.ts'
import { Broken } from './broken.tsx'
import type { PackageRecord } from '../../parts/record.ts'

export function Promote({ record, close }: { record: PackageRecord; close: () => void }) {
  const [target, setTarget] = useState<string | null>(null)
  const distributions = useDistributions().data?.distributions ?? []
  const own = distributions.find(({ codename }) => codename === record.distribution)
  const targets = distributions
    .filter(({ codename, format, active }) => active && format === own?.format && codename !== record.distribution)
    .map(({ codename }) => codename)
  return (
    <Modal opened onClose={close} title={`Promote ${record.name} ${record.version}`} size="lg">
      <Stack>
        <Select
          label={`From ${record.distribution} to`}
          data={targets}
          value={target}
          onChange={setTarget}
          searchable
          data-autofocus
          nothingFoundMessage="No other distribution of this format is served"
        />
        {target && <Plan record={record} target={target} close={close} />}
      </Stack>
    </Modal>
  )
}

function Plan({ record, target, close }: { record: PackageRecord; target: string; close: () => void }) {
  const queries = useQueryClient()
  const body = {
    package: record.name,
    version: record.version,
    arch: record.arch,
    from_dist: record.distribution,
    to_dist: target,
  }
  const plan = useQuery({
    ...read('POST /distributions/promote', { body: { ...body, dry_run: true } }),
  })
  const promote = useMutation({
    mutationFn: () => call('POST /distributions/promote', { body }),
    onSuccess: async () => {
      await queries.invalidateQueries()
      close()
    },
  })
  return (
    <Answer of={plan} rows={3}>
      {(answer) => {
        const coming = answer.versions.filter(({ result }) => result === 'promoted')
        return (
          <Stack>
            {answer.versions.map(({ version, arch, result }) => (
              <Text size="sm" key={`${version} ${arch}`}>
                <span className="mono">{`${record.name} ${version} ${arch}`}</span>:{' '}
                {result === 'promoted' ? `will be published in ${target}` : `is in ${target} already`}
              </Text>
            ))}
            <Text size="sm" c="dimmed">
              Its verdicts and decisions go with it. What the advisories of {target} and the policy hold is not served
              there before a person decides. It stays in {record.distribution}.
            </Text>
            {answer.warnings.map((warning) => (
              <Text size="sm" key={warning}>
                {warning}
              </Text>
            ))}
            <Broken of={answer.would_break} total={answer.would_break_total} />
            {promote.isError && <Failure error={promote.error} />}
            <Group>
              <Button onClick={() => promote.mutate()} loading={promote.isPending} disabled={coming.length === 0}>
                {promote.isPending ? 'Publishing…' : 'Confirm'}
              </Button>
              <Button variant="default" onClick={close}>
                Cancel
              </Button>
            </Group>
          </Stack>
        )
      }}
    </Answer>
  )
}
