// Where the keyboard and a screen reader are after the page has changed: at its title. The browser does this for pages that it loads
// itself, so the first one is left alone.
import { createContext, useContext, useEffect, type RefObject } from 'react'
import { useMatch } from '@tanstack/react-router'

/** The path that was shown last; null before the first. */
export const Shown = createContext<RefObject<string | null> | null>(null)

/** Focuses the title when the path is another than before. What the rest of the address says changes within a page. */
export function useArrival(): void {
  const shown = useContext(Shown)
  // Of this page, not of the address: that one changes while the page of before is still shown.
  const here = useMatch({ strict: false, select: ({ pathname }) => pathname })
  useEffect(() => {
    if (!shown || shown.current === here) return
    if (shown.current !== null) focusTitle({ preventScroll: true })
    shown.current = here
  }, [shown, here])
}

export function focusTitle(options?: FocusOptions): void {
  document.getElementById('page-title')?.focus(options)
}
