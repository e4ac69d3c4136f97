// A token that was just made: the only time that anybody sees it.
import { Alert, Button, Modal } from '@mantine/core'
import type { ReactNode } from 'react'
import { Snippet } from './snippet.tsx'

interface MadeTokenProps {
  token: string
  /** where it belongs */
  about: string
  close: () => void
  children?: ReactNode
}

export function MadeToken({ token, about, close, children }: MadeTokenProps) {
  return (
    <Modal opened onClose={close} title="The token, once" closeOnClickOutside={false} size="lg">
      <Alert color="gray" variant="outline" mb="md">
        It is not shown again. {about}
      </Alert>
      <Snippet label="Token" text={token} />
      {children}
      <Button onClick={close}>I have stored it</Button>
    </Modal>
  )
}
