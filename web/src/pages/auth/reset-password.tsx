// The target of the mailed link. The token is removed from the address bar and the history immediately.
import { Alert, Anchor, Button, PasswordInput, Stack } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { call } from '../../api/api.ts'
import { Failure } from '../../parts/answer.tsx'
import { Form } from '../../parts/form.tsx'
import { Frame } from '../../parts/frame.tsx'

const route = getRouteApi('/reset-password')

export default function ResetPassword() {
  const { token: given } = route.useSearch()
  const [token] = useState(given ?? '')
  const [password, setPassword] = useState('')
  useEffect(() => history.replaceState(null, '', location.pathname), [])
  const reset = useMutation({
    mutationFn: () => call('POST /auth/reset-password', { body: { token, new_password: password } }),
  })
  return (
    <Frame title="New password">
      {reset.isSuccess ? (
        <Alert color="gray" variant="outline" role="status">
          {reset.data.message}
        </Alert>
      ) : (
        <Form send={() => reset.mutate()}>
          <Stack>
            {token === '' && (
              <Alert color="red" variant="outline">
                The link is incomplete. Open it from the mail again, or ask for a new one.
              </Alert>
            )}
            {reset.isError && <Failure error={reset.error} />}
            <PasswordInput
              label="New password"
              description="8 to 128 characters, an uppercase letter, a digit or special character."
              autoComplete="new-password"
              required
              autoFocus
              value={password}
              onChange={(event) => setPassword(event.currentTarget.value)}
            />
            <Button type="submit" loading={reset.isPending} disabled={token === ''}>
              Set the password
            </Button>
          </Stack>
        </Form>
      )}
      <Anchor component={Link} to="/login" size="sm">
        Sign in
      </Anchor>
    </Frame>
  )
}
