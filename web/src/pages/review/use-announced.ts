// Where the keyboard and a screen reader are: the focus goes to the heading of the next record after a decision, and to what was opened
// where only one pane is shown; a live region says what `j` and `k` have opened.
import { useEffect, useRef, useState } from 'react'
import { focusTitle } from '../../parts/arrival.ts'
import { OPEN_RECORD } from './head.tsx'
import { groupName } from './rows.ts'
import type { QueueState } from './use-queue.ts'

/** As in review.css. */
const ONE_PANE = '(max-width: 56.25em)'

let wanted = false
/** The next record that opens gets the focus. */
export function focusNext(): void {
  wanted = true
}

/** @returns the text of the live region */
export function useAnnounced({ open, isNamed, group }: QueueState): string {
  const [text, setText] = useState('')
  const before = useRef({ id: open?.id, isNamed })
  useEffect(() => {
    const { id, isNamed: wasNamed } = before.current
    before.current = { id: open?.id, isNamed }
    if (id !== open?.id)
      setText(
        open === null
          ? ''
          : open.kind === 'record'
            ? `${open.record.name} ${open.record.version}`
            : open.group
              ? groupName(open.group, group ?? 'source')
              : '',
      )
    const onePane = matchMedia(ONE_PANE).matches
    if (wanted || (onePane && isNamed && (!wasNamed || id !== open?.id))) {
      wanted = false
      // The record is not drawn yet when its evidence has to be read first.
      focusHeading()
      if (onePane) scrollTo({ top: 0 })
    } else if (onePane && wasNamed && !isNamed) {
      const row = document.querySelector<HTMLElement>('.entry[aria-current] a')
      row?.scrollIntoView({ block: 'center' })
      row?.focus({ preventScroll: true })
    }
  }, [open?.id, isNamed])
  return text
}

const PATIENCE_MS = 2_000

/** Focuses the heading of the open record as soon as it is there; the title of the page when nothing is open. */
function focusHeading(until = performance.now() + PATIENCE_MS): void {
  const heading = document.getElementById(OPEN_RECORD)
  if (heading) heading.focus({ preventScroll: true })
  else if (performance.now() < until) requestAnimationFrame(() => focusHeading(until))
  else focusTitle({ preventScroll: true })
}
