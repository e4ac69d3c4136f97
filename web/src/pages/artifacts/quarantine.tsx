// Takes a published version away from clients at once, after a warning about what they lose.
import { Button, Group, Modal, Stack, Text, Textarea } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call, read } from '../../api/api.ts'
import { Failure } from '../../parts/answer.tsx'
import { Broken } from './broken.tsx'
import type { PackageRecord } from '../../parts/record.ts'

export function Quarantine({ record, close }: { record: PackageRecord; close: () => void }) {
  const { name, version, distribution, arch } = record
  const [reason, setReason] = useState('')
  const queries = useQueryClient()
  const given = { params: { name, version }, query: { distribution, arch } }
  // Clients lose the same as by a deletion, whose plan says what would break. An emergency does not wait for it.
  const plan = useQuery(
    read('DELETE /artifacts/{name}/{version}', { ...given, query: { ...given.query, dry_run: true } }),
  )
  const quarantine = useMutation({
    mutationFn: () => call('POST /security/packages/{name}/{version}/quarantine', { ...given, body: { reason } }),
    onSuccess: async () => {
      await queries.invalidateQueries()
      close()
    },
  })
  return (
    <Modal opened onClose={close} title={`Quarantine ${name} ${version}`} size="lg">
      <Stack>
        <Text size="sm">
          Clients of {distribution} do not get it any more, and its file is moved out of the repository. Machines that
          have it keep it. Only {distribution}, {arch} is meant.
        </Text>
        {plan.data && <Broken of={plan.data.would_break} total={plan.data.would_break_total} />}
        <Textarea
          label="Reason"
          description="For the audit log and for everybody who is told."
          value={reason}
          onChange={(event) => setReason(event.currentTarget.value)}
          data-autofocus
        />
        {quarantine.isError && <Failure error={quarantine.error} />}
        <Group>
          <Button
            color="red"
            onClick={() => quarantine.mutate()}
            loading={quarantine.isPending}
            disabled={!reason.trim()}
          >
            Quarantine
          </Button>
          <Button variant="default" onClick={close}>
            Cancel
          </Button>
        </Group>
      </Stack>
    </Modal>
  )
}
