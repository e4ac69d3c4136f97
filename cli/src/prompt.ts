// Questions to the person at the terminal. Without a terminal nothing is asked: exit 2 names the flag to give.
import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { EXITS } from './exits.ts'
import { Failure, usage } from './failure.ts'
import type { Terminal } from './terminal.ts'

/**
 * @param instead what to give when there is no terminal, such as `--url`
 * @param hidden whether what is typed is not shown
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
      // After an answer it rejects nothing any more.
      const interrupted = () =>
        reject(new Failure(EXITS.interrupted, 'interrupted', { code: 'aborted', detail: 'interrupted' }))
      line.once('SIGINT', interrupted)
      line.once('close', interrupted)
      line.question(`${question}: `, resolve)
      isMuted = hidden
    })
  } finally {
    // With its own listeners: one that is left shows what is typed at the next question, which may be a password.
    line.close()
    if (hidden) terminal.errors.write('\n')
  }
}

/** @param instead the flag that answers yes */
export async function confirm(terminal: Terminal, question: string, instead: string): Promise<boolean> {
  return /^y(es)?$/i.test((await ask(terminal, `${question} [y/N]`, instead)).trim())
}
