// Repair of what the drift scan found: first what it would do with each file, then the repair.
import { Button, Group, Modal, NumberInput, Stack, Text } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call, read, type Answered } from '../../api/api.ts'
import { Answer, Failure } from '../../parts/answer.tsx'
import { Toned } from '../../parts/marks.tsx'
import { Rows } from '../../parts/rows.tsx'
import { count } from '../../parts/words.ts'

type Plan = Answered<'POST /artifacts/admin/repair'>

const ACTIONS: Record<Plan['results'][number]['action'], string> = {
  restore: 'Restore the bytes',
  quarantine: 'Quarantine the package',
  rebuild: 'Publish the distribution again',
  delete: 'Delete the file',
  write: 'Write it again',
  none: 'Nothing: a person has to',
}
const MOST_REMOVED = 100

export function Repair({ close }: { close: () => void }) {
  const queries = useQueryClient()
  const [most, setMost] = useState(MOST_REMOVED)
  // Each plan is a task: only this dialog asks for one, once for each limit.
  const plan = useQuery({
    ...read('POST /artifacts/admin/repair', { body: { dry_run: true, max_removed: most } }),
    staleTime: Infinity,
    gcTime: 0,
  })
  const repair = useMutation({
    mutationFn: () => call('POST /artifacts/admin/repair', { body: { max_removed: most } }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['GET /artifacts/admin/drift'] }),
  })
  return (
    <Modal opened onClose={close} title="Repair" size="xl">
      <Stack>
        <NumberInput
          label="Most files to give up or delete"
          description="With more lost or unknown files than this, none is removed: a disk may be missing."
          min={0}
          max={10_000_000}
          defaultValue={most}
          onBlur={(event) => setMost(Number(event.currentTarget.value) || 0)}
          disabled={repair.data !== undefined}
        />
        {repair.isError && <Failure error={repair.error} />}
        {repair.data ? (
          <Done result={repair.data} close={close} />
        ) : (
          <Answer of={plan} rows={3}>
            {(planned) => (
              <>
                <Results of={planned} />
                <Group>
                  <Button
                    loading={repair.isPending}
                    disabled={planned.findings === 0}
                    onClick={() => repair.mutate()}
                    data-autofocus
                  >
                    Repair
                  </Button>
                  <Button variant="default" onClick={close}>
                    Cancel
                  </Button>
                </Group>
              </>
            )}
          </Answer>
        )}
      </Stack>
    </Modal>
  )
}

function Done({ result, close }: { result: Plan; close: () => void }) {
  return (
    <>
      <Text role="status" component="div">
        <Toned tone={result.resolved === result.findings ? 'good' : 'care'}>
          {`${result.resolved} of ${count(result.findings, 'finding')} resolved`}
        </Toned>
      </Text>
      <Results of={result} />
      <Button variant="default" onClick={close} w="fit-content">
        Close
      </Button>
    </>
  )
}

function Results({ of: { results, findings } }: { of: Plan }) {
  return (
    <>
      <Rows
        of={results}
        label="What is done with each file"
        id={({ subject }) => subject}
        columns={[
          { head: 'File', cell: ({ subject }) => <span className="mono">{subject}</span> },
          { head: 'Repair', cell: ({ action }) => ACTIONS[action] },
          { head: 'Detail', cell: ({ detail }) => detail },
          {
            head: 'Result',
            cell: ({ resolved }) =>
              resolved !== null && (
                <Toned tone={resolved ? 'good' : 'care'}>{resolved ? 'resolved' : 'still open'}</Toned>
              ),
          },
        ]}
      />
      {findings > results.length && (
        <Text size="sm" c="dimmed">
          And {count(findings - results.length, 'finding')} more; the log of the task has all.
        </Text>
      )}
    </>
  )
}
