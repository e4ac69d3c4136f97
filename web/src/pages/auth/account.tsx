// The person's own account: password, second factor, colours, and the single-letter keys.
import {
  Button,
  Group,
  Image,
  PasswordInput,
  SegmentedControl,
  Stack,
  Switch,
  Text,
  TextInput,
  useMantineColorScheme,
} from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../api/api.ts'
import { keysAreOn, setKeys } from '../../parts/keys.ts'
import { Failure } from '../../parts/answer.tsx'
import { Form } from '../../parts/form.tsx'
import { Toned } from '../../parts/marks.tsx'
import { Page, Section } from '../../parts/page.tsx'
import { Snippet } from '../../parts/snippet.tsx'
import { sessionQuery, useSession } from '../../session/session.ts'

export default function Account() {
  const user = useSession()?.user
  if (!user) return null
  const local = user.auth_source === 'local'
  return (
    <Page title="Your account" about={`${user.full_name || user.username}, ${user.role}`}>
      <div style={{ maxWidth: 480 }}>
        {user.mfa_enrolment_required && (
          <Text role="alert" fw={650} mb="md">
            Your role needs a second factor here. Set one up below; then everything else opens.
          </Text>
        )}
        {local ? (
          <Password />
        ) : (
          <p>Your password is kept by {user.auth_source === 'ldap' ? 'the directory' : 'the identity provider'}.</p>
        )}
        <SecondFactor on={user.mfa_enabled === true} />
        <Look />
      </div>
    </Page>
  )
}

function Password() {
  const [current, setCurrent] = useState('')
  const [fresh, setFresh] = useState('')
  const change = useMutation({
    mutationFn: () => call('POST /auth/change-password', { body: { current_password: current, new_password: fresh } }),
    onSuccess: () => {
      setCurrent('')
      setFresh('')
    },
  })
  return (
    <Section title="Password">
      <Form send={() => change.mutate()}>
        <Stack>
          {change.isError && <Failure error={change.error} />}
          {change.data && <Text role="status">{change.data.message}</Text>}
          <PasswordInput
            label="Current password"
            required
            autoComplete="current-password"
            value={current}
            onChange={(event) => setCurrent(event.currentTarget.value)}
          />
          <PasswordInput
            label="New password"
            description="Your other sessions end."
            required
            autoComplete="new-password"
            value={fresh}
            onChange={(event) => setFresh(event.currentTarget.value)}
          />
          <Button type="submit" variant="default" loading={change.isPending} w="fit-content">
            Change password
          </Button>
        </Stack>
      </Form>
    </Section>
  )
}

function SecondFactor({ on }: { on: boolean }) {
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
  const codeField = (
    <TextInput
      label="Code"
      inputMode="numeric"
      autoComplete="one-time-code"
      w={160}
      value={code}
      onChange={(event) => setCode(event.currentTarget.value)}
    />
  )
  return (
    <Section title="Second factor">
      <Stack>
        <Toned tone={on ? 'good' : 'care'}>
          {on ? 'a code of your app is asked at sign-in' : 'off: the password alone signs you in'}
        </Toned>
        {failed && <Failure error={failed.error} />}
        {recovery && (
          <>
            <Text size="sm">Recovery codes, each works once. They are not shown again.</Text>
            <Snippet label="Recovery codes" text={recovery.join('\n')} />
          </>
        )}
        {setup.data && !on && (
          <>
            <Image
              src={setup.data.qr_code}
              alt="Code to scan with the app"
              w={180}
              h={180}
              style={{ background: '#fff' }}
            />
            <Text size="sm">
              Or type it: <span className="mono">{setup.data.secret}</span>
            </Text>
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

function Look() {
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  const [keys, setShown] = useState(keysAreOn())
  return (
    <Section title="This browser">
      <Stack>
        <SegmentedControl
          aria-label="Colours"
          w="fit-content"
          value={colorScheme}
          onChange={(value) => setColorScheme(value)}
          data={[
            { value: 'auto', label: 'As the system' },
            { value: 'light', label: 'Light' },
            { value: 'dark', label: 'Dark' },
          ]}
        />
        <Switch
          label="Single-letter keys"
          description="g and a letter opens a page, / searches, ? shows all."
          checked={keys}
          onChange={(event) => {
            setKeys(event.currentTarget.checked)
            setShown(event.currentTarget.checked)
          }}
        />
      </Stack>
    </Section>
  )
}
