// Questions to the person at the terminal. Without a terminal nothing is asked: exit 2 names the flag to use.
import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { EXITS } from './exits.ts'
import { Failure, usage } from './failure.ts'
import type { Terminal } from './terminal.ts'

/**
 * @param instead what to give when there is no terminal, such as `--url`
 * @param hidden whether the typed text is hidden
 */
export async function ask(terminal: Terminal, question: string, instead: string, hidden = false): Promise<string> {
  if (!terminal.canAsk) throw usage(`there is no terminal to ask for ${question}: give ${instead}`)
  let isMuted = false
  const output = new Writable({
    write(chunk: Buffer, _encoding, done) {
      if (!isMuted) terminal.errors.write(chunk)
      done()
    },
  })
  const line = createInterface({ input: terminal.input, output, terminal: true })
  try {
    return await new Promise<string>((resolve, reject) => {
      // After an answer, rejecting has no effect.
      const interrupted = () =>
        reject(new Failure(EXITS.interrupted, 'interrupted', { code: 'aborted', detail: 'interrupted' }))
      line.once('SIGINT', interrupted)
      line.once('close', interrupted)
      line.question(`${question}: `, resolve)
      isMuted = hidden
    })
  } finally {
    // Also removes its listeners: a remaining one would show the text typed at the next question, which may be a password.
    line.close()
    if (hidden) terminal.errors.write('\n')
  }
}

/** @param instead the flag that means yes */
export async function confirm(terminal: Terminal, question: string, instead: string): Promise<boolean> {
  return /^y(es)?$/i.test((await ask(terminal, `${question} [y/N]`, instead)).trim())
}
