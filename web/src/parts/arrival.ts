// Where the keyboard and a screen reader are after a page change: at its title. The browser does this for pages that it loads
// itself, so nothing is done for the first page.
import { createContext, useContext, useEffect, type RefObject } from 'react'
import { useMatch } from '@tanstack/react-router'

/** The path of the last shown page; null before the first. */
export const Shown = createContext<RefObject<string | null> | null>(null)

/** Focuses the title when the path has changed. The rest of the address changes within a page. */
export function useArrival(): void {
  const shown = useContext(Shown)
  // The path of this page, not of the address, which already changes while the previous page is still shown.
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
