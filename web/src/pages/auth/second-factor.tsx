// The second factor of the person's own account: set up, recovery codes, switched off.
import { Button, Group, Image, Stack, Text, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../api/api.ts'
import { Failure } from '../../parts/answer.tsx'
import { Toned } from '../../parts/marks.tsx'
import { Section } from '../../parts/page.tsx'
import { Snippet } from '../../parts/snippet.tsx'
import { sessionQuery } from '../../session/session.ts'

export function SecondFactor({ on }: { on: boolean }) {
  const queries = useQueryClient()
  const [code, setCode] = useState('')
  const [recovery, setRecovery] = useState<string[] | null>(null)
  const refresh = () => queries.refetchQueries({ queryKey: sessionQuery.queryKey })
  const setup = useMutation({ mutationFn: () => call('POST /auth/mfa/setup') })
  const confirm = useMutation({
    mutationFn: () => call('POST /auth/mfa/confirm', { body: { totp_code: code.trim() } }),
    onSuccess: async ({ recovery_codes: codes }) => {
      setRecovery(codes)
      setup.reset()
      setCode('')
      await refresh()
    },
  })
  const disable = useMutation({
    mutationFn: () => call('POST /auth/mfa/disable', { body: { totp_code: code.trim() } }),
    onSuccess: async () => {
      setCode('')
      await refresh()
    },
  })
  const renew = useMutation({
    mutationFn: () => call('POST /auth/mfa/recovery-codes', { body: { totp_code: code.trim() } }),
    onSuccess: ({ recovery_codes: codes }) => {
      setRecovery(codes)
      setCode('')
    },
  })
  const failed = [setup, confirm, disable, renew].find(({ isError }) => isError)
  const codeField = <Code value={code} onChange={setCode} />
  return (
    <Section title="Second factor">
      <Stack>
        <Toned tone={on ? 'good' : 'care'}>
          {on ? 'a code of your app is asked at sign-in' : 'off: the password alone signs you in'}
        </Toned>
        {failed && <Failure error={failed.error} />}
        {recovery && <RecoveryCodes codes={recovery} />}
        {setup.data && !on && (
          <>
            <Secret {...setup.data} />
            <Group align="flex-end">
              {codeField}
              <Button onClick={() => confirm.mutate()} loading={confirm.isPending}>
                Turn it on
              </Button>
            </Group>
          </>
        )}
        {!on && !setup.data && (
          <Button variant="default" w="fit-content" loading={setup.isPending} onClick={() => setup.mutate()}>
            Set it up
          </Button>
        )}
        {on && (
          <Group align="flex-end">
            {codeField}
            <Button variant="default" loading={renew.isPending} onClick={() => renew.mutate()} disabled={code === ''}>
              New recovery codes
            </Button>
            <Button
              variant="outline"
              color="red"
              loading={disable.isPending}
              onClick={() => disable.mutate()}
              disabled={code === ''}
            >
              Turn it off
            </Button>
          </Group>
        )}
      </Stack>
    </Section>
  )
}

function Code({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  return (
    <TextInput
      label="Code"
      inputMode="numeric"
      autoComplete="one-time-code"
      w={160}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  )
}

function Secret({ qr_code, secret }: { qr_code: string; secret: string }) {
  return (
    <>
      <Image src={qr_code} alt="Code to scan with the app" w={180} h={180} style={{ background: '#fff' }} />
      <Text size="sm">
        Or type it: <span className="mono">{secret}</span>
      </Text>
    </>
  )
}

function RecoveryCodes({ codes }: { codes: readonly string[] }) {
  return (
    <>
      <Text size="sm">Recovery codes, each works once. They are not shown again.</Text>
      <Snippet label="Recovery codes" text={codes.join('\n')} />
    </>
  )
}
