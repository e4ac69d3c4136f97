import { Alert, Anchor, Button, Stack, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { call } from '../../api/api.ts'
import { Failure } from '../../parts/answer.tsx'
import { Form } from '../../parts/form.tsx'
import { Frame } from '../../parts/frame.tsx'

export default function ForgotPassword() {
  const [who, setWho] = useState('')
  const ask = useMutation({
    mutationFn: () =>
      call('POST /auth/forgot-password', { body: who.includes('@') ? { email: who } : { username: who } }),
  })
  return (
    <Frame title="Forgotten password">
      {ask.isSuccess ? (
        <Alert color="gray" variant="outline" role="status">
          {ask.data.message}
        </Alert>
      ) : (
        <Form send={() => ask.mutate()}>
          <Stack>
            {ask.isError && <Failure error={ask.error} />}
            <TextInput
              label="User name or mail address"
              description="A link to set a new password is mailed. It works for 30 minutes."
              required
              autoFocus
              value={who}
              onChange={(event) => setWho(event.currentTarget.value)}
            />
            <Button type="submit" loading={ask.isPending}>
              Send the link
            </Button>
          </Stack>
        </Form>
      )}
      <Anchor component={Link} to="/login" size="sm">
        Back to sign in
      </Anchor>
    </Frame>
  )
}
