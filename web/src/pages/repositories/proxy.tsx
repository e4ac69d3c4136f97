// What belongs to a proxy: its upstream and its rules.
import { Button, Group, Stack, Switch, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import type { Curation } from '../../../../src/domain/curation.ts'
import { Failure } from '../../parts/answer.tsx'
import { Form } from '../../parts/form.tsx'
import { Section } from '../../parts/page.tsx'
import type { Change, Details } from './registries.ts'
import { Rules } from './rules.tsx'
import { UpstreamFields } from './upstream-fields.tsx'

interface ProxyProps {
  upstream: NonNullable<Details['upstream']>
  curation: Curation
  /** for people who may change nothing */
  readOnly: boolean
  change: (body: Change) => Promise<unknown>
}

/** Only what was changed is sent, so that two people who change two rules both succeed. */
export function Proxy({ upstream, curation, readOnly, change }: ProxyProps) {
  const [url, setUrl] = useState<string | null>(null)
  const [authorization, setAuthorization] = useState('')
  const [forgets, setForgets] = useState(false)
  const [rules, setRules] = useState<Partial<Curation>>({})
  const asks = url !== null || authorization !== '' || forgets
  const isChanged = asks || Object.keys(rules).length > 0
  const discard = () => {
    setUrl(null)
    setAuthorization('')
    setForgets(false)
    setRules({})
  }
  const save = useMutation({
    mutationFn: () =>
      change({
        ...(asks && {
          upstream: {
            url: url ?? upstream.url,
            ...(authorization !== '' ? { authorization } : forgets && { authorization: null }),
          },
        }),
        ...(Object.keys(rules).length > 0 && { curation: rules }),
      }),
    onSuccess: discard,
  })
  const about = upstream.has_credential
    ? 'One is stored, and nobody can read it back. Empty keeps it, unless the host changes.'
    : 'The header Authorization, where the upstream asks for one. Nobody can read it back.'
  return (
    <Section title="Upstream and rules">
      <Form send={() => isChanged && save.mutate()}>
        <Stack maw={640}>
          <UpstreamFields
            typed={{ url: url ?? upstream.url, authorization }}
            about={about}
            readOnly={readOnly}
            put={(typed) => {
              setUrl(typed.url === upstream.url ? null : typed.url)
              setAuthorization(typed.authorization)
            }}
          />
          {upstream.has_credential && !readOnly && (
            <Switch
              label="Ask without a credential"
              checked={forgets}
              onChange={(event) => setForgets(event.currentTarget.checked)}
            />
          )}
          <Rules
            rules={{ ...curation, ...rules }}
            readOnly={readOnly}
            put={(more) => setRules((now) => ({ ...now, ...more }))}
          />
          {save.isError && <Failure error={save.error} />}
          {!readOnly && (
            <Group>
              <Button type="submit" disabled={!isChanged} loading={save.isPending}>
                Save
              </Button>
              <Button variant="default" disabled={!isChanged} onClick={discard}>
                Discard
              </Button>
              {save.isSuccess && !isChanged && <Text role="status">Saved. It counts for the next request.</Text>}
            </Group>
          )}
        </Stack>
      </Form>
    </Section>
  )
}
