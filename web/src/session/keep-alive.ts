// Keeps the session of an active person, and ends it in all tabs at once.
import type { QueryClient } from '@tanstack/react-query'
import { alone } from '../api/renewal.ts'
import { session, sessionQuery, type Session } from './session.ts'

/** After this part of its life a JWT is exchanged. */
const RENEW_AT = 0.8
const CHECK_MS = 15_000

const tabs = typeof BroadcastChannel === 'undefined' ? null : new BroadcastChannel('gatehouse-session')

/** @returns a function that stops the renewal */
export function keepAlive(queries: QueryClient, onSignedOut: () => void): () => void {
  let lastInput = Date.now()
  const noteInput = () => (lastInput = Date.now())
  for (const event of ['keydown', 'pointerdown'] as const) addEventListener(event, noteInput, { passive: true })

  const timer = setInterval(() => void check(), CHECK_MS)

  async function check(): Promise<void> {
    if (!isDue()) return
    await alone(async () => {
      // Another tab may have renewed it while this one waited for the lock.
      const now = await session<Session>('GET', '').catch(() => null)
      if (now) queries.setQueryData(sessionQuery.queryKey, now)
      if (!now?.user || !isDue()) return
      await session('POST', '/refresh').catch(() => undefined)
      await queries.refetchQueries({ queryKey: sessionQuery.queryKey })
    })
  }

  /** The page does not know the whole life of the session: this is the longest remaining time that it has seen. */
  let longest = 0
  function isDue(): boolean {
    const state = queries.getQueryState<Session>(sessionQuery.queryKey)
    const left = state?.data?.expires_in
    if (!state || left === null || left === undefined) return false
    const remaining = left - (Date.now() - state.dataUpdatedAt) / 1000
    longest = Math.max(longest, left)
    const worked = Date.now() - lastInput < longest * RENEW_AT * 1000
    return worked && remaining < longest * (1 - RENEW_AT)
  }

  const onMessage = () => onSignedOut()
  tabs?.addEventListener('message', onMessage)
  return () => {
    clearInterval(timer)
    for (const event of ['keydown', 'pointerdown'] as const) removeEventListener(event, noteInput)
    tabs?.removeEventListener('message', onMessage)
  }
}

/** Ends the session here and tells the other tabs. @returns where the browser continues */
export async function signOut(): Promise<string> {
  const ended = await session<{ end_session_url?: string }>('DELETE', '').catch(() => null)
  tabs?.postMessage('signed out')
  return ended?.end_session_url ?? new URL('./login', document.baseURI).href
}
