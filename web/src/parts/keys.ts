// Single keys. They are inactive in fields and dialogs, with modifiers, and when a person switched them off (WCAG 2.1.4).
import { useEffect, useRef } from 'react'

const STORED = 'gatehouse-keys'

export const keysAreOn = () => localStorage.getItem(STORED) !== 'off'
export const setKeys = (on: boolean) => (on ? localStorage.removeItem(STORED) : localStorage.setItem(STORED, 'off'))

/** Boxes and switches take no letters, so that single keys work after a click on one. */
const TYPED_INTO =
  'input:not([type=checkbox], [type=radio]), textarea, select, [role="dialog"], [role="menu"], [role="listbox"]'

/** Keys that go on while they are held; others act once. */
const REPEATED = new Set(['j', 'k', 'J', 'K'])

/** Whether a key press belongs to typed text or to a dialog. */
export function isTyping({ target }: Event): boolean {
  if (!(target instanceof HTMLElement)) return false
  return target.isContentEditable || target.closest(TYPED_INTO) !== null
}

/** Calls the handler of a single key. `bindings` may change with every render. */
export function useKeys(bindings: Readonly<Record<string, () => void>>): void {
  const current = useRef(bindings)
  current.current = bindings
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (!keysAreOn() || event.ctrlKey || event.metaKey || event.altKey || isTyping(event)) return
      const run = current.current[event.key]
      if (!run || (event.repeat && !REPEATED.has(event.key))) return
      event.preventDefault()
      run()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [])
}
