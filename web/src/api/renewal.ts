// Renews an ended session for all requests: one tab asks for a new one, the others wait for it.
// A refresh ends the old session, so two tabs that refreshed at once would end each other's.

const LOCK = 'gatehouse-session'

/** Called when the session has ended and only a login helps. */
let ended: () => void = () => undefined

export function onSessionEnd(listener: () => void): void {
  ended = listener
}

/** Runs `work` alone among the tabs of this browser. Browsers give locks to secure origins only; elsewhere it just runs. */
export function alone<T>(work: () => Promise<T>): Promise<T> {
  const locks = (navigator as { locks?: LockManager }).locks
  return locks ? locks.request(LOCK, work) : work()
}

export async function withSession(attempt: () => Promise<Response>): Promise<Response> {
  const first = await attempt()
  if (first.status !== 401) return first
  // Another tab may be renewing the session: waits for it, then tries once more.
  await alone(async () => undefined)
  const second = await attempt()
  if (second.status === 401) ended()
  return second
}
