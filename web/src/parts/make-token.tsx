// A dialog that makes a token, and then shows it: the only time that anybody sees it.
import { Alert, Button, Modal, Stack } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Failure } from './answer.tsx'
import { Form } from './form.tsx'
import { Snippet } from './snippet.tsx'

interface MakeTokenProps {
  title: string
  make: () => Promise<{ token: string }>
  /** where the token belongs */
  about: string
  /** lines that use it */
  use?: (token: string) => ReactNode
  close: () => void
  /** the fields */
  children: ReactNode
}

export function MakeToken({ title, make, about, use, close, children }: MakeTokenProps) {
  const queries = useQueryClient()
  const create = useMutation({ mutationFn: make, onSuccess: () => queries.invalidateQueries() })
  if (create.data)
    return (
      // Another dialog, not the same with other words: so that the focus is inside.
      <Modal key="made" opened onClose={close} title="The token, once" closeOnClickOutside={false} size="lg">
        <Alert color="gray" variant="outline" mb="md">
          It is not shown again. {about}
        </Alert>
        <Snippet label="Token" text={create.data.token} />
        {use?.(create.data.token)}
        <Button onClick={close}>I have stored it</Button>
      </Modal>
    )
  return (
    <Modal opened onClose={close} title={title}>
      <Form send={() => create.mutate()}>
        <Stack>
          {create.isError && <Failure error={create.error} />}
          {children}
          <Button type="submit" loading={create.isPending}>
            Create
          </Button>
        </Stack>
      </Form>
    </Modal>
  )
}
