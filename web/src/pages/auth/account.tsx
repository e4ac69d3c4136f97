// The person's own account: password, second factor, colours, and the single-letter keys.
import { Button, PasswordInput, SegmentedControl, Stack, Switch, Text, useMantineColorScheme } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { call } from '../../api/api.ts'
import { keysAreOn, setKeys } from '../../parts/keys.ts'
import { Failure } from '../../parts/answer.tsx'
import { Form } from '../../parts/form.tsx'
import { Page, Section } from '../../parts/page.tsx'
import { useSession } from '../../session/session.ts'
import { SecondFactor } from './second-factor.tsx'

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
        <Section title="API tokens">
          <Link to="/account/tokens">Your API tokens</Link>, for pipelines and scripts.
        </Section>
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
