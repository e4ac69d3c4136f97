// A form that sends by script. Enter in a field sends it, Ctrl+Enter also from a text of several lines.
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
        const isText = event.target instanceof HTMLTextAreaElement
        if (!isText || event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
        // As Enter does in a field: not while the button is disabled.
        event.currentTarget.querySelector<HTMLButtonElement>('button[type=submit]')?.click()
      }}
    />
  )
}
