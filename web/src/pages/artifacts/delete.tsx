// Deletes a shown version, after a warning about what clients lose.
import { Button, Group, Modal, Stack, Text } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { call, read } from '../../api/api.ts'
import { Answer, Failure } from '../../parts/answer.tsx'
import { Broken } from './broken.tsx'
import type { PackageRecord } from '../../parts/record.ts'

export function DeleteVersion({ record, close }: { record: PackageRecord; close: () => void }) {
  const { name, version, distribution, arch } = record
  const queries = useQueryClient()
  const navigate = useNavigate()
  const given = { params: { name, version }, query: { distribution, arch } }
  const plan = useQuery({
    ...read('DELETE /artifacts/{name}/{version}', { ...given, query: { ...given.query, dry_run: true } }),
  })
  const remove = useMutation({
    mutationFn: () => call('DELETE /artifacts/{name}/{version}', given),
    onSuccess: async () => {
      await queries.invalidateQueries()
      await navigate({ to: '/packages' })
    },
  })
  return (
    <Modal opened onClose={close} title={`Delete ${name} ${version}`} size="lg">
      <Answer of={plan} rows={2}>
        {({ would_break: broken, would_break_total: total, warnings }) => (
          <Stack>
            <Text size="sm">
              {record.served
                ? `Clients of ${distribution} do not get it any more. Machines that have it keep it.`
                : `No client gets it now.`}{' '}
              Only {distribution}, {arch} is meant.
            </Text>
            {warnings.map((warning) => (
              <Text size="sm" key={warning}>
                {warning}
              </Text>
            ))}
            <Broken of={broken} total={total} />
            {remove.isError && <Failure error={remove.error} />}
            <Group>
              <Button color="red" variant="outline" onClick={() => remove.mutate()} loading={remove.isPending}>
                Delete
              </Button>
              <Button variant="default" onClick={close} data-autofocus>
                Cancel
              </Button>
            </Group>
          </Stack>
        )}
      </Answer>
    </Modal>
  )
}
