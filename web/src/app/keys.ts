// Single keys. They sleep in fields and dialogs, with modifiers, and when a person switched them off (WCAG 2.1.4).
import { useNavigate } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import { spotlight } from '@mantine/spotlight'
import { navigation } from '../routes.tsx'

const STORED = 'gatehouse-keys'
const SEQUENCE_MS = 1_500

export const keysAreOn = () => localStorage.getItem(STORED) !== 'off'
export const setKeys = (on: boolean) => (on ? localStorage.removeItem(STORED) : localStorage.setItem(STORED, 'off'))

/** Whether a key press belongs to what the person types or to a dialog. */
export function isTyping({ target }: Event): boolean {
  if (!(target instanceof HTMLElement)) return false
  return target.isContentEditable || target.closest('input, textarea, select, [role="dialog"], [role="menu"]') !== null
}

/** Calls the handler of a single key. `bindings` may change with every render. */
export function useKeys(bindings: Readonly<Record<string, () => void>>): void {
  const current = useRef(bindings)
  current.current = bindings
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (!keysAreOn() || event.ctrlKey || event.metaKey || event.altKey || isTyping(event)) return
      const run = current.current[event.key]
      if (!run) return
      event.preventDefault()
      run()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [])
}

/** `g` and a letter opens a page, `/` the search. */
export function useGoKeys(): void {
  const navigate = useNavigate()
  useEffect(() => {
    let since = 0
    const onKey = (event: KeyboardEvent) => {
      // With Ctrl it is no single key: it works in fields, and when those are switched off.
      if (event.key === 'k' && (event.ctrlKey || event.metaKey)) {
        event.preventDefault()
        spotlight.open()
        return
      }
      if (!keysAreOn() || event.ctrlKey || event.metaKey || event.altKey || isTyping(event)) return
      if (event.key === '/') {
        event.preventDefault()
        spotlight.open()
        return
      }
      const inSequence = Date.now() - since < SEQUENCE_MS
      since = event.key === 'g' && !inSequence ? Date.now() : 0
      const page = inSequence ? navigation.find(({ keys }) => keys === event.key) : undefined
      if (!page) return
      // Keys of the page must not see the second letter.
      event.preventDefault()
      event.stopImmediatePropagation()
      void navigate({ to: page.path })
    }
    addEventListener('keydown', onKey, { capture: true })
    return () => removeEventListener('keydown', onKey, { capture: true })
  }, [navigate])
}
