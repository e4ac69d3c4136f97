// Runs of syncs and mirrors, with their progress and a button to cancel one.
import { Button } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { call, read } from '../../api/api.ts'
import { Answer, Empty } from '../../parts/answer.tsx'
import { Toned } from '../../parts/marks.tsx'
import { Section } from '../../parts/page.tsx'
import { Rows } from '../../parts/rows.tsx'
import { When } from '../../parts/when.tsx'
import { useMay } from '../../session/session.ts'

const KINDS = [
  { title: 'Catalogs', list: 'GET /import/sync/jobs', cancel: 'POST /import/sync/jobs/{id}/cancel' },
  { title: 'Mirrors', list: 'GET /import/mirror/jobs', cancel: 'POST /import/mirror/jobs/{id}/cancel' },
] as const

export function Jobs() {
  return KINDS.map((kind) => <JobList key={kind.title} {...kind} />)
}

function JobList({ title, list, cancel }: (typeof KINDS)[number]) {
  const jobs = useQuery({ ...read(list as 'GET /import/sync/jobs'), refetchInterval: 5_000 })
  const queries = useQueryClient()
  const mayCancel = useMay('maintainer+')
  const stop = useMutation({
    mutationFn: (id: number) => call(cancel as 'POST /import/sync/jobs/{id}/cancel', { params: { id } }),
    onSuccess: () => queries.invalidateQueries({ queryKey: [list] }),
  })
  return (
    <Section title={title}>
      <Answer of={jobs}>
        {({ jobs: all }) =>
          all.length === 0 ? (
            <Empty title="None yet" />
          ) : (
            <Rows
              of={all}
              label={title}
              id={({ job_id: id }) => String(id)}
              columns={[
                { head: 'What', cell: ({ label }) => label },
                {
                  head: 'State',
                  cell: ({ status, cancelling }) => (
                    <Toned tone={status === 'done' ? 'good' : status === 'error' ? 'bad' : 'unknown'}>
                      {cancelling ? 'being cancelled' : status}
                    </Toned>
                  ),
                },
                {
                  head: 'Done',
                  number: true,
                  cell: ({ done_count: done, total }) => (total > 0 ? `${done} of ${total}` : done),
                },
                { head: 'Failed', number: true, cell: ({ error_count: failed }) => failed },
                { head: 'Began', cell: ({ started_at: at }) => <When at={at} none="waits" /> },
                { head: 'Ended', cell: ({ finished_at: at }) => <When at={at} none="" /> },
                {
                  head: '',
                  cell: ({ job_id: id, status, label }) =>
                    mayCancel && status === 'running' ? (
                      <Button
                        size="compact-xs"
                        variant="default"
                        onClick={() => stop.mutate(id)}
                        aria-label={`Cancel ${label}`}
                      >
                        Cancel
                      </Button>
                    ) : null,
                },
              ]}
            />
          )
        }
      </Answer>
    </Section>
  )
}
