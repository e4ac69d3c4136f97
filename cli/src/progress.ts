// Shows work on several files: a bar for each on a terminal, otherwise a line at start, at end and every 30 s.
import { plain, type Terminal } from './terminal.ts'
import { sizeText } from './spans.ts'

const LINE_MS = 30_000
const FRAME_MS = 100
const BAR = 24

export interface Item {
  /** bytes sent so far; a new try begins again */
  sent(bytes: number): void
  /** the current activity, such as a step of the gate */
  step(text: string): void
  /** @param text the result */
  end(text: string): void
}

export interface Progress {
  begin(name: string, size: number): Item
  /** a permanent line, such as "trying again in 4 s" */
  note(text: string): void
  close(): void
}

interface State {
  name: string
  size: number
  sent: number
  step: string
}

/** Repeats the work. @returns a function that ends it */
export type Every = (ms: number, work: () => void) => () => void

const every: Every = (ms, work) => {
  const timer = setInterval(work, ms)
  return () => clearInterval(timer)
}

export function createProgress(terminal: Terminal, repeat: Every = every): Progress {
  if (terminal.quiet) return silent()
  return terminal.errIsTerminal ? bars(terminal, repeat) : lines(terminal, repeat)
}

const silent = (): Progress => ({
  begin: () => ({ sent: () => undefined, step: () => undefined, end: () => undefined }),
  note: () => undefined,
  close: () => undefined,
})

function lines(terminal: Terminal, repeat: Every): Progress {
  const active = new Set<State>()
  const stop = repeat(LINE_MS, () => {
    for (const state of active) terminal.note(`${state.name}: ${state.step || `${percent(state)} % sent`}`)
  })
  return {
    begin(name, size) {
      const state: State = { name: plain(name), size, sent: 0, step: '' }
      active.add(state)
      terminal.note(`${state.name}: sending ${sizeText(size)}`)
      return {
        sent: (bytes) => void (state.sent = bytes),
        step: (text) => void (state.step = plain(text)),
        end(text) {
          active.delete(state)
          terminal.note(`${state.name}: ${plain(text)}`)
        },
      }
    },
    note: (text) => terminal.note(plain(text)),
    close: stop,
  }
}

function bars(terminal: Terminal, repeat: Every): Progress {
  const active: State[] = []
  let drawn = 0
  const write = (text: string) => void terminal.errors.write(text)
  const erase = () => {
    if (drawn > 0) write(`\u001b[${drawn}A\u001b[J`)
    drawn = 0
  }
  const draw = () => {
    erase()
    const width = terminal.errors.columns ?? 80
    for (const state of active) write(`${barOf(state).slice(0, width - 1)}\n`)
    drawn = active.length
  }
  const stay = (text: string) => {
    erase()
    write(`${plain(text)}\n`)
    draw()
  }
  const stop = repeat(FRAME_MS, draw)
  return {
    begin(name, size) {
      const state: State = { name: plain(name), size, sent: 0, step: '' }
      active.push(state)
      draw()
      return {
        sent: (bytes) => void (state.sent = bytes),
        step: (text) => void (state.step = plain(text)),
        end(text) {
          active.splice(active.indexOf(state), 1)
          stay(`${state.name}: ${text}`)
        },
      }
    },
    note: stay,
    close() {
      stop()
      erase()
    },
  }
}

const percent = ({ sent, size }: State) => (size === 0 ? 100 : Math.min(100, Math.floor((sent / size) * 100)))

/** `name  [#####     ]  45 %  12.3 MB`, then `name  antivirus …`. */
export function barOf(state: State): string {
  const done = percent(state)
  if (state.step && done === 100) return `${state.name}  ${state.step} …`
  const full = Math.round((done / 100) * BAR)
  return `${state.name}  [${'#'.repeat(full)}${' '.repeat(BAR - full)}] ${String(done).padStart(3)} %  ${sizeText(state.sent)} of ${sizeText(state.size)}`
}
