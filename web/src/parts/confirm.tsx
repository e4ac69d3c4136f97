// Asks for confirmation of an action that cannot be undone; with `typed`, the name has to be typed.
import { Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState, type ReactNode } from 'react'
import { Failure } from './answer.tsx'

interface ConfirmProps {
  title: string
  action: string
  typed?: string
  run: () => Promise<unknown>
  close: () => void
  children: ReactNode
}

export function Confirm({ title, action, typed, run, close, children }: ConfirmProps) {
  const queries = useQueryClient()
  const [text, setText] = useState('')
  const doing = useMutation({
    mutationFn: run,
    onSuccess: async () => {
      await queries.invalidateQueries()
      close()
    },
  })
  return (
    <Modal opened onClose={close} title={title}>
      <Stack>
        <Text size="sm" component="div">
          {children}
        </Text>
        {typed && (
          <TextInput
            label={`Type ${typed}`}
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
            data-autofocus
            autoComplete="off"
          />
        )}
        {doing.isError && <Failure error={doing.error} />}
        <Group>
          <Button
            color="red"
            variant="outline"
            disabled={typed !== undefined && text !== typed}
            loading={doing.isPending}
            onClick={() => doing.mutate()}
          >
            {action}
          </Button>
          <Button variant="default" onClick={close} data-autofocus={typed === undefined || undefined}>
            Cancel
          </Button>
        </Group>
      </Stack>
    </Modal>
  )
}
