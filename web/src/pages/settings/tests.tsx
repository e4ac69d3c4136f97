// Buttons that test a section with the saved settings: a mail, a webhook, the directory, what retention would remove.
import { Button, Group, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { call, type Endpoint } from '../../api/api.ts'
import { Failure } from '../../parts/answer.tsx'
import { Toned } from '../../parts/marks.tsx'
import { sentence } from '../../parts/words.ts'

const TESTS: Record<string, { label: string; endpoint: Endpoint; body?: object }> = {
  email: { label: 'Send a test mail', endpoint: 'POST /settings/test-email' },
  notifications: { label: 'Post a test event', endpoint: 'POST /settings/test-webhook' },
  ldap: { label: 'Connect to the directory', endpoint: 'POST /settings/test-ldap' },
  oidc: { label: 'Test the provider', endpoint: 'POST /settings/test-oidc' },
  retention: { label: 'Preview clean-up', endpoint: 'POST /settings/run-retention', body: { dry_run: true } },
}

interface Result {
  status: string
  message?: string
  result?: object
  /** the parts of a test that has several */
  checks?: { name: string; ok: boolean; detail: string }[]
}

export function Tests({ section, saved }: { section: string; saved: boolean }) {
  const test = TESTS[section]
  const run = useMutation({
    mutationFn: async (one: { endpoint: Endpoint; body?: object }) =>
      (await call(one.endpoint, { body: one.body })) as Result,
  })
  if (!test) return null
  return (
    <>
      <Group>
        <Button variant="default" loading={run.isPending} disabled={!saved} onClick={() => run.mutate(test)}>
          {test.label}
        </Button>
        {!saved && <Text size="sm">Save first: the test uses what is in force.</Text>}
      </Group>
      {run.isError && <Failure error={run.error} />}
      {run.data?.message && !run.data.checks && (
        <Text mt="sm" role="status" component="div">
          <Toned tone={run.data.status === 'ok' ? 'good' : 'bad'}>{run.data.message}</Toned>
        </Text>
      )}
      {run.data?.checks && (
        <ul aria-label="Checks">
          {run.data.checks.map(({ name, ok, detail }) => (
            <li key={name}>
              <Toned tone={ok ? 'good' : 'bad'}>{`${sentence(name)}: ${detail}`}</Toned>
            </li>
          ))}
        </ul>
      )}
      {run.data?.result && (
        <dl role="status">
          {Object.entries(run.data.result).map(([kind, counts]) => (
            <div key={kind}>
              <dt style={{ display: 'inline' }}>{kind.replaceAll('_', ' ')}: </dt>
              <dd style={{ display: 'inline', margin: 0 }}>
                {Object.entries(counts as object)
                  .filter(([, n]) => typeof n === 'number' || typeof n === 'string')
                  .map(([what, n]) => `${String(n)} ${what.replaceAll('_', ' ')}`)
                  .join(', ')}
              </dd>
            </div>
          ))}
        </dl>
      )}
    </>
  )
}
