// Replaces a page that failed to render: the rest of the console still works.
import type { ErrorComponentProps } from '@tanstack/react-router'
import { Failure } from '../parts/answer.tsx'
import { Page } from '../parts/page.tsx'

export function Broken({ error, reset }: ErrorComponentProps) {
  return (
    <Page title="This page failed">
      <Failure error={error} retry={reset} />
    </Page>
  )
}
