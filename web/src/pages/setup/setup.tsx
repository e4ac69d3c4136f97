// The first start: checks that everything is there, creates the administrator, and asks for the address of the console.
import { Alert, Button, PasswordInput, Stack, Text, TextInput } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { base, read, type Answered } from '../../api/api.ts'
import { Failure } from '../../parts/answer.tsx'
import { Form } from '../../parts/form.tsx'
import { Toned } from '../../parts/marks.tsx'
import { session, sessionQuery } from '../../session/session.ts'
import { Frame } from '../../parts/frame.tsx'
import { Ready } from './ready.tsx'

const CHECKS: Record<string, string> = {
  database: 'Database',
  disk_space: 'Disk space',
  antivirus: 'Malware scanner',
  vulnscan: 'Vulnerability data',
  secrets: 'Secrets',
  tls: 'Encryption',
}

export default function Setup() {
  const state = useQuery(sessionQuery).data
  const navigate = useNavigate()
  const queries = useQueryClient()
  const preflight = useQuery({ ...read('GET /setup/preflight'), enabled: state?.needs_setup === true })
  const [form, setForm] = useState({
    admin_username: 'admin',
    admin_password: '',
    admin_email: '',
    app_url: base.replace(/\/$/, ''),
    token: '',
  })
  const field = (name: keyof typeof form) => ({
    value: form[name],
    onChange: (event: { currentTarget: { value: string } }) => {
      const { value } = event.currentTarget
      setForm((now) => ({ ...now, [name]: value }))
    },
  })
  const create = useMutation({
    mutationFn: () => {
      const { token, admin_email, ...rest } = form
      return session(
        'POST',
        '/setup',
        { ...rest, ...(admin_email && { admin_email }) },
        token ? { 'x-setup-token': token } : {},
      )
    },
    onSuccess: async () => {
      await queries.refetchQueries({ queryKey: sessionQuery.queryKey })
    },
  })
  useEffect(() => {
    if (state && !state.needs_setup && !create.isPending && !create.isSuccess) void navigate({ to: '/', replace: true })
  }, [state, navigate, create.isPending, create.isSuccess])

  if (create.isSuccess) return <Ready />
  return (
    <Frame title="Set up">
      {preflight.isError && <Failure error={preflight.error} retry={() => void preflight.refetch()} />}
      {preflight.data && <Checks checks={preflight.data.checks} />}
      <Form send={() => create.mutate()}>
        <Stack>
          {create.isError && <Failure error={create.error} />}
          {state?.setup_token_required && (
            <PasswordInput label="Setup token" description="The value of SETUP_TOKEN." required {...field('token')} />
          )}
          <TextInput label="Administrator" autoComplete="username" required {...field('admin_username')} />
          <PasswordInput
            label="Password"
            description="8 to 128 characters, an uppercase letter, a digit or special character."
            autoComplete="new-password"
            required
            {...field('admin_password')}
          />
          <TextInput
            label="Mail address"
            description="Optional, for a forgotten password."
            type="email"
            {...field('admin_email')}
          />
          <TextInput
            label="Address of this console"
            description="Links in mails begin with it."
            required
            {...field('app_url')}
          />
          <Button type="submit" loading={create.isPending}>
            Create the administrator
          </Button>
        </Stack>
      </Form>
      {state && !state.secure && !['localhost', '127.0.0.1'].includes(location.hostname) && (
        <Alert color="gray" variant="outline">
          This connection is not encrypted. Put a TLS proxy in front before you set a password.
        </Alert>
      )}
    </Frame>
  )
}

function Checks({ checks }: { checks: Answered<'GET /setup/preflight'>['checks'] }) {
  return (
    <Stack gap={4} aria-label="Checks" component="ul" p={0} m={0} style={{ listStyle: 'none' }}>
      {Object.entries(checks).map(([name, { ok, detail }]) => (
        <li key={name}>
          <Toned tone={ok ? 'good' : 'care'}>{`${CHECKS[name] ?? name}: ${ok ? 'ready' : 'not ready'}`}</Toned>
          <Text size="xs" c="dimmed">
            {detail}
          </Text>
        </li>
      ))}
    </Stack>
  )
}
