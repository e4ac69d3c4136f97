import { useNavigate } from '@tanstack/react-router'
import { useEffect } from 'react'
import { spotlight } from '@mantine/spotlight'
import { isTyping, keysAreOn } from '../parts/keys.ts'
import { useNavigation } from './navigation.ts'

/** A second key after this time counts as a first one. */
const SEQUENCE_MS = 1_500

/** `g` and a letter opens a page, `/` the search. */
export function useGoKeys(): void {
  const navigate = useNavigate()
  const navigation = useNavigation()
  useEffect(() => {
    let since = 0
    const onKey = (event: KeyboardEvent) => {
      // With Ctrl it is no single key: it works in fields, and when single keys are switched off.
      if (event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey)) {
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
  }, [navigate, navigation])
}
