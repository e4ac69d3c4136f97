// Sign in: name and password, then the second factor where there is one; or the identity provider.
import { Alert, Anchor, Button, Divider, PasswordInput, Stack, Text, TextInput } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { problemOf } from '../../api/problem.ts'
import { Failure } from '../../parts/answer.tsx'
import { Form } from '../../parts/form.tsx'
import { ownPath } from '../../session/next.ts'
import { session, sessionQuery } from '../../session/session.ts'
import { startSso } from '../../session/sso.ts'
import { Frame } from '../../parts/frame.tsx'

const route = getRouteApi('/login')

export default function Login() {
  const { next } = route.useSearch()
  const navigate = useNavigate()
  const queries = useQueryClient()
  const state = useQuery(sessionQuery).data
  const [needsCode, setNeedsCode] = useState(false)

  useEffect(() => {
    if (state?.needs_setup) void navigate({ to: '/setup', replace: true })
    else if (state?.user) void navigate({ href: ownPath(next), replace: true })
  }, [state, next, navigate])

  const opened = (answer: { mfa_required: boolean }) => {
    if (answer.mfa_required) {
      setNeedsCode(true)
      return
    }
    // What somebody read before is not for whoever signs in now.
    queries.removeQueries({ predicate: ({ queryKey: [first] }) => first !== sessionQuery.queryKey[0] })
    void queries.refetchQueries({ queryKey: sessionQuery.queryKey })
  }
  return (
    <Frame title={needsCode ? 'Second step' : 'Sign in'}>
      {needsCode ? <Code onDone={opened} onBack={() => setNeedsCode(false)} /> : <Password onDone={opened} />}
      {!needsCode && state?.sso.enabled && (
        <>
          <Divider label="or" />
          <Sso name={state.sso.provider_name ?? 'SSO'} next={next} />
        </>
      )}
    </Frame>
  )
}

type Done = (answer: { mfa_required: boolean }) => void

function Password({ onDone }: { onDone: Done }) {
  const [username, setUsername] = useState('')
  const [password, setPassword] = useState('')
  const login = useMutation({
    mutationFn: () => session<{ mfa_required: boolean }>('POST', '', { username, password }),
    onSuccess: onDone,
  })
  return (
    <Form send={() => login.mutate()}>
      <Stack>
        {login.isError && <LoginFailure error={login.error} />}
        <TextInput
          label="User name"
          name="username"
          autoComplete="username"
          autoFocus
          required
          value={username}
          onChange={(event) => setUsername(event.currentTarget.value)}
        />
        <PasswordInput
          label="Password"
          name="password"
          autoComplete="current-password"
          required
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
        />
        <Button type="submit" loading={login.isPending}>
          Sign in
        </Button>
        <Anchor component={Link} to="/forgot-password" size="sm">
          Forgotten password
        </Anchor>
      </Stack>
    </Form>
  )
}

function Code({ onDone, onBack }: { onDone: Done; onBack: () => void }) {
  const [code, setCode] = useState('')
  const second = useMutation({
    mutationFn: () => session<{ mfa_required: boolean }>('POST', '/mfa', { totp_code: code.trim() }),
    onSuccess: onDone,
  })
  return (
    <Form send={() => second.mutate()}>
      <Stack>
        {second.isError && <LoginFailure error={second.error} />}
        <TextInput
          label="Code"
          description="Six digits of your app, or a recovery code."
          name="code"
          autoComplete="one-time-code"
          inputMode="text"
          autoFocus
          required
          value={code}
          onChange={(event) => setCode(event.currentTarget.value)}
        />
        <Button type="submit" loading={second.isPending}>
          Continue
        </Button>
        <Button variant="subtle" onClick={onBack}>
          Back
        </Button>
      </Stack>
    </Form>
  )
}

/** One text for every refused login, so that it reveals nothing about accounts. */
function LoginFailure({ error }: { error: unknown }) {
  const { code } = problemOf(error)
  if (code !== 'unauthorized') return <Failure error={error} />
  return (
    <Alert color="red" variant="outline" role="alert">
      <Text size="sm">Name, password or code is wrong, or the account is disabled.</Text>
    </Alert>
  )
}

function Sso({ name, next }: { name: string; next: string | undefined }) {
  const start = useMutation({ mutationFn: () => startSso(next) })
  return (
    <>
      {start.isError && <Failure error={start.error} />}
      <Button variant="default" loading={start.isPending} onClick={() => start.mutate()}>
        Sign in with {name}
      </Button>
    </>
  )
}
