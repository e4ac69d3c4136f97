// A form that is sent by script. Enter in a field sends it; Ctrl+Enter sends it from anywhere in it, also from a switch or a
// multi-line text.
import type { ComponentProps } from 'react'

interface FormProps extends Omit<ComponentProps<'form'>, 'onSubmit'> {
  send: () => void
}

export function Form({ send, onKeyDown, ...props }: FormProps) {
  return (
    <form
      {...props}
      onSubmit={(event) => {
        event.preventDefault()
        send()
      }}
      onKeyDown={(event) => {
        onKeyDown?.(event)
        if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
        event.preventDefault()
        // Like Enter in a field: not while the button is disabled.
        event.currentTarget.querySelector<HTMLButtonElement>('button[type=submit]')?.click()
      }}
    />
  )
}
