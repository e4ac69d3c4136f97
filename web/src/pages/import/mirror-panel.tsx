// One mirror: its selection, what a run would import, and the run itself.
import { Button, Group, Text } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call, readEdited, type Answered } from '../../api/api.ts'
import { Answer, Failure } from '../../parts/answer.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { Edited } from '../../parts/edited.tsx'
import { Section } from '../../parts/page.tsx'
import { When } from '../../parts/when.tsx'
import { useMay } from '../../session/session.ts'
import { MirrorForm } from './mirror-form.tsx'
import { Plan } from './mirror-plan.tsx'
import { Run } from './mirror-run.tsx'
import { selectionInWords } from './selection-words.ts'

export function MirrorPanel({ id }: { id: number }) {
  const queries = useQueryClient()
  const mayChange = useMay('maintainer+')
  const [asks, setAsks] = useState<'form' | 'delete' | null>(null)
  const params = { id: String(id) }
  const mirror = useQuery(readEdited('GET /import/mirror/sources/{id}', { params }))
  // The plan reads the whole catalog, so it runs only on request.
  const plan = useMutation({ mutationFn: () => call('GET /import/mirror/sources/{id}/plan', { params }) })
  const start = useMutation({
    mutationFn: () => call('POST /import/mirror/start/{source}', { params: { source: String(id) } }),
    onSuccess: () => {
      // The old plan would still list packages that the run is importing.
      plan.reset()
      return queries.invalidateQueries()
    },
  })
  return (
    <Answer of={mirror} rows={3}>
      {({ document: data }) => {
        const { label, distribution, last_job: job, continue_after: after } = data
        const running = job?.status === 'running'
        return (
          <Section
            title={`${label} into ${distribution ?? ''}`}
            actions={
              <Group gap="xs">
                <Button size="compact-sm" variant="default" loading={plan.isPending} onClick={() => plan.mutate()}>
                  Dry run
                </Button>
                {mayChange && (
                  <>
                    <Button
                      size="compact-sm"
                      disabled={running}
                      loading={start.isPending}
                      onClick={() => start.mutate()}
                    >
                      Start a run
                    </Button>
                    <Button size="compact-sm" variant="default" onClick={() => setAsks('form')}>
                      Change
                    </Button>
                    <Button size="compact-sm" variant="default" onClick={() => setAsks('delete')}>
                      Stop mirroring
                    </Button>
                  </>
                )}
              </Group>
            }
          >
            <Selected mirror={data} />
            {after !== null && (
              <Text size="sm">
                The last run reached a limit. The next one goes on after <span className="mono">{after}</span>.
              </Text>
            )}
            {start.isError && <Failure error={start.error} />}
            {start.data?.already_running && <Text size="sm">A run is under way already; this is it.</Text>}
            {job && <Run key={job.job_id} job={job} />}
            {plan.isError && <Failure error={plan.error} retry={() => plan.mutate()} />}
            {plan.data && <Plan plan={plan.data} />}
            {asks === 'form' && (
              <Edited of={mirror}>
                {({ document, state }, load) => (
                  <MirrorForm mirror={document} state={state} close={() => setAsks(null)} load={load} />
                )}
              </Edited>
            )}
            {asks === 'delete' && (
              <Confirm
                title={`Mirror ${label} no more`}
                action="Stop mirroring"
                close={() => setAsks(null)}
                run={() => call('DELETE /import/mirror/sources/{id}', { params })}
              >
                Nothing new comes from it by itself. Packages that it brought stay, and so does the source.
              </Confirm>
            )}
          </Section>
        )
      }}
    </Answer>
  )
}

/** What the mirror selects, and who decided so. */
function Selected({
  mirror: { selection, updated_at, updated_by },
}: {
  mirror: Answered<'GET /import/mirror/sources/{id}'>
}) {
  return (
    <>
      <Text size="sm">
        Brings {selectionInWords(selection, selection.names.length)}. Changed <When at={updated_at} /> by {updated_by}.
      </Text>
      {selection.names.length > 0 && (
        <details>
          <summary>
            <Text size="sm" span>
              The names
            </Text>
          </summary>
          <Text size="sm" className="mono">
            {selection.names.join(', ')}
          </Text>
        </details>
      )}
    </>
  )
}
