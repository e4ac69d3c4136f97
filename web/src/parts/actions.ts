// The actions on what is open. The palette offers them by name, also to people who switched single keys off.
import { useEffect, useRef, useSyncExternalStore } from 'react'

export interface OpenAction {
  label: string
  /** the single key that does the same */
  keys: string
  run: () => void
}

let offered: readonly OpenAction[] = []
const listeners = new Set<() => void>()

function offer(actions: readonly OpenAction[]): void {
  offered = actions
  for (const tell of listeners) tell()
}

function subscribe(tell: () => void): () => void {
  listeners.add(tell)
  return () => listeners.delete(tell)
}

export const useOffered = () => useSyncExternalStore(subscribe, () => offered)

/** Offers these actions while the page is mounted. `actions` may change with every render. */
export function useActions(actions: readonly OpenAction[]): void {
  const current = useRef(actions)
  current.current = actions
  const labels = actions.map(({ label }) => label).join('\n')
  useEffect(() => {
    offer(current.current.map((action, i) => ({ ...action, run: () => current.current[i]?.run() })))
    return () => offer([])
  }, [labels])
}
