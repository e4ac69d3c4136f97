// Who has to look at the open record.
import { Group, Select } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { call, read } from '../../api/api.ts'
import { Failure } from '../../parts/answer.tsx'
import { useMay } from '../../session/session.ts'
import { evidenceOf } from './item.ts'
import type { RecordId } from './record-id.ts'

export function Assign({ record, to }: { record: RecordId; to: string | null }) {
  const { name, version, distribution, arch } = record
  const mayAssign = useMay('maintainer+')
  const queries = useQueryClient()
  const people = useQuery({ ...read('GET /security/reviewers'), enabled: mayAssign })
  const assign = useMutation({
    mutationFn: (whom: string | null) =>
      call('PATCH /security/packages/{name}/{version}/assign', {
        params: { name, version },
        query: { distribution, arch },
        body: { assigned_to: whom },
      }),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: evidenceOf(record).queryKey })
      await queries.invalidateQueries({ queryKey: ['GET /security/review-queue'], refetchType: 'none' })
    },
  })
  if (!mayAssign) return to === null ? null : <p>Assigned to {to}</p>
  const names = (people.data?.reviewers ?? []).map(({ username, full_name: full }) => ({
    value: username,
    label: full ? `${full} (${username})` : username,
  }))
  // Somebody who may not decide any more is still shown.
  const listed = to === null || names.some(({ value }) => value === to) ? names : [...names, { value: to, label: to }]
  return (
    <>
      <Group mb="sm">
        <Select
          label="Assigned to"
          size="xs"
          w={220}
          clearable
          searchable
          placeholder="nobody"
          data={listed}
          value={to}
          disabled={assign.isPending}
          onChange={(whom) => assign.mutate(whom)}
        />
      </Group>
      {assign.isError && <Failure error={assign.error} />}
    </>
  )
}
