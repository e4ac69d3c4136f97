// Uploads of this tab. They are kept outside the page, so they continue while other pages are shown. Three run at a time.
import { useSyncExternalStore } from 'react'
import { sendFile, type Outcome, type Step } from './send.ts'

export interface Upload {
  id: number
  name: string
  size: number
  distribution: string
  state: 'waiting' | 'sending' | 'checking' | 'ended'
  /** bytes that left the browser */
  sent: number
  steps: readonly Step[]
  outcome: Outcome | null
  /** when a refused upload is tried again, ms since 1970 */
  retryAt: number | null
}

const AT_ONCE = 3
const MOST_TRIES = 5

let uploads: readonly Upload[] = []
const files = new Map<number, File>()
const cancels = new Map<number, AbortController>()
const watchers = new Set<() => void>()
let lastId = 0

export function useUploads(): readonly Upload[] {
  return useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher)
      return () => watchers.delete(watcher)
    },
    () => uploads,
  )
}

function set(next: readonly Upload[]): void {
  uploads = next
  for (const watcher of watchers) watcher()
}

function update(id: number, change: Partial<Upload>): void {
  set(uploads.map((one) => (one.id === id ? { ...one, ...change } : one)))
}

export function enqueue(some: readonly File[], distribution: string): void {
  const added = some.map((file): Upload => {
    const id = ++lastId
    files.set(id, file)
    return {
      id,
      name: file.name,
      size: file.size,
      distribution,
      state: 'waiting',
      sent: 0,
      steps: [],
      outcome: null,
      retryAt: null,
    }
  })
  set([...added, ...uploads])
  addEventListener('beforeunload', warn)
  pump()
}

export function cancel(id: number): void {
  cancels.get(id)?.abort()
  if (uploads.find((one) => one.id === id)?.state === 'waiting') end(id, { kind: 'cancelled' })
}

/** Sends the file of a failed upload again. */
export function again(id: number): void {
  update(id, { state: 'waiting', sent: 0, steps: [], outcome: null })
  pump()
}

export function clearEnded(): void {
  for (const { id } of uploads.filter(({ state }) => state === 'ended')) files.delete(id)
  set(uploads.filter(({ state }) => state !== 'ended'))
}

function end(id: number, outcome: Outcome): void {
  update(id, { state: 'ended', outcome, retryAt: null })
  if (uploads.every(({ state }) => state === 'ended')) removeEventListener('beforeunload', warn)
}

/** Warns, because leaving the page would interrupt running uploads. */
const warn = (event: BeforeUnloadEvent) => event.preventDefault()

function pump(): void {
  const running = uploads.filter(({ state }) => state === 'sending' || state === 'checking').length
  // The list shows the newest first; the oldest is sent first.
  const next = [...uploads]
    .reverse()
    .filter(({ state }) => state === 'waiting')
    .slice(0, Math.max(0, AT_ONCE - running))
  for (const upload of next) {
    update(upload.id, { state: 'sending' })
    void run(upload)
  }
}

async function run({ id, distribution }: Upload): Promise<void> {
  const file = files.get(id)
  const cancelled = new AbortController()
  cancels.set(id, cancelled)
  try {
    for (let tries = 1; file; tries++) {
      const outcome = await sendFile(file, distribution, {
        signal: cancelled.signal,
        onSent: (sent) => update(id, { sent, state: sent < file.size ? 'sending' : 'checking' }),
        onStep: (step) => update(id, { steps: merged(uploads.find((one) => one.id === id)?.steps ?? [], step) }),
      })
      const waitMs = outcome.kind === 'refused' ? outcome.retryAfterMs : null
      if (waitMs === null || tries === MOST_TRIES) {
        end(id, outcome)
        break
      }
      update(id, { retryAt: Date.now() + waitMs, sent: 0, steps: [] })
      if (!(await waited(waitMs, cancelled.signal))) {
        end(id, { kind: 'cancelled' })
        break
      }
      update(id, { retryAt: null, state: 'sending' })
    }
  } finally {
    cancels.delete(id)
    pump()
  }
}

function merged(steps: readonly Step[], step: Step): Step[] {
  return steps.some(({ name }) => name === step.name)
    ? steps.map((one) => (one.name === step.name ? step : one))
    : [...steps, step]
}

/** @returns false when the wait was cancelled */
function waited(ms: number, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(true), ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve(false)
    })
  })
}
