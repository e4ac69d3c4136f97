import type { Context } from './command.ts'
import { EXITS, type Exit } from './exits.ts'

/** Prints a new token, and nothing else to standard output. @param what whose it is */
export function printToken({ json, terminal }: Context, made: { token: string }, what: string): Exit {
  if (json) terminal.document(made)
  else {
    terminal.print(made.token)
    terminal.note(`${what}; the token is not shown again`)
  }
  return EXITS.done
}
