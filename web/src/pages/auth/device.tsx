// A program that asks for a session: the person enters its code, sees what asks, and answers.
import { Alert, Button, Group, Stack, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import { call } from '../../api/api.ts'
import { Failure } from '../../parts/answer.tsx'
import { Form } from '../../parts/form.tsx'
import { Page } from '../../parts/page.tsx'

const route = getRouteApi('/device')

export default function Device() {
  const { code: given } = route.useSearch()
  const [code, setCode] = useState(given ?? '')
  const params = { user_code: code.trim() }
  const look = useMutation({ mutationFn: () => call('GET /auth/device/{user_code}', { params }) })
  const answer = useMutation({
    mutationFn: (approve: boolean) => call('POST /auth/device/{user_code}', { params, body: { approve } }),
  })
  return (
    <Page title="Sign in a program" about="For gatehouse login --device, and other programs that show a code">
      <Stack maw={480}>
        {look.isError && <Failure error={look.error} />}
        {answer.isError && <Failure error={answer.error} />}
        {answer.isSuccess ? (
          <Alert color="gray" variant="outline" role="status">
            {answer.data.status === 'approved' ? 'The program is signed in as you.' : 'The program gets nothing.'}
          </Alert>
        ) : look.isSuccess ? (
          <>
            <p>
              <strong>{look.data.client}</strong>, from the address {look.data.ip}, asks to be signed in as you, with
              all your rights. Approve only what you started yourself a moment ago: nobody else has a reason to send you
              a code.
            </p>
            <Group>
              <Button loading={answer.isPending} onClick={() => answer.mutate(true)}>
                Sign it in
              </Button>
              <Button variant="default" disabled={answer.isPending} onClick={() => answer.mutate(false)}>
                Refuse
              </Button>
            </Group>
          </>
        ) : (
          <Form send={() => look.mutate()}>
            <Stack>
              <TextInput
                label="Code"
                description="As the program shows it"
                required
                autoFocus
                autoComplete="off"
                value={code}
                onChange={(event) => setCode(event.currentTarget.value)}
              />
              <Button type="submit" loading={look.isPending}>
                Continue
              </Button>
            </Stack>
          </Form>
        )}
      </Stack>
    </Page>
  )
}
