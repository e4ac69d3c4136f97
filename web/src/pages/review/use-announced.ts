// Where the keyboard and a screen reader are: the focus goes to the heading of the next record after a decision, and to what was opened
// where only one pane is shown; a live region says what `j` and `k` have opened.
import { useEffect, useRef, useState } from 'react'
import { focusTitle } from '../../parts/arrival.ts'
import { groupName } from './rows.ts'
import type { QueueState } from './use-queue.ts'

/** As in review.css. */
const ONE_PANE = '(max-width: 56.25em)'

/** The id of the heading of what is open. */
export const OPEN_RECORD = 'open-record'

let wanted = false
/** The next record that opens gets the focus. */
export function focusNext(): void {
  wanted = true
}

function takeFocus(): void {
  const heading = document.getElementById(OPEN_RECORD)
  if (!wanted || !heading) return
  wanted = false
  heading.focus({ preventScroll: true })
}

/** For the heading itself: it may be drawn later than it was asked for, when the evidence had to be read first. */
export function useWantedFocus(): void {
  useEffect(takeFocus, [])
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
      wanted = open !== null
      if (open === null) focusTitle({ preventScroll: true })
      else takeFocus()
      if (onePane) scrollTo({ top: 0 })
    } else if (onePane && wasNamed && !isNamed) {
      const row = document.querySelector<HTMLElement>('.entry[aria-current] a')
      row?.scrollIntoView({ block: 'center' })
      row?.focus({ preventScroll: true })
    }
  }, [open?.id, isNamed])
  return text
}
