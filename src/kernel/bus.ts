// Events from lower rooms to observers in higher ones. Nothing may depend on a listener.
import { EventEmitter } from 'node:events'

export interface BusEvents {
  package: {
    action: 'uploaded' | 'published' | 'held' | 'quarantined' | 'rejected' | 'deleted' | 'promoted'
    package: string
    version: string
    distribution: string
    status: string | null
  }
  /** an upload or import ended, with or without a record */
  intake: {
    status: 'published' | 'pending_review' | 'quarantined' | 'rejected' | 'error'
    findings: { severity: string }[]
  }
  /** a person decided about a held package */
  decision: {
    package: string
    version: string
    distribution: string
    arch: string
    action: string
    status: string
    decided_by: string
  }
  published: { distribution: string; revision: number; milliseconds: number }
  settings: { changed: string[] }
  audit: { count: number }
}

export interface Bus {
  emit<K extends keyof BusEvents>(event: K, data: BusEvents[K]): void
  /** @returns a function that stops listening */
  on<K extends keyof BusEvents>(event: K, listener: (data: BusEvents[K]) => void): () => void
}

/** @param onError called when a listener throws: a failing observer must not disturb what it observes */
export function createBus(onError: (error: unknown) => void): Bus {
  const emitter = new EventEmitter()
  emitter.setMaxListeners(0)
  return {
    emit(event, data) {
      for (const listener of emitter.listeners(event) as ((sent: typeof data) => void)[]) {
        try {
          listener(data)
        } catch (error) {
          onError(error)
        }
      }
    },
    on(event, listener) {
      emitter.on(event, listener)
      return () => emitter.off(event, listener)
    },
  }
}
