// Reads JSON lines, such as the export of the audit log.
import { textOf } from './events.ts'

/** The lines of an answer, without their line ends, as they arrive. @throws errors of reading */
export async function* readLines(response: Response): AsyncGenerator<string> {
  let rest = ''
  for await (const text of textOf(response)) {
    const lines = `${rest}${text}`.split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
  if (rest) yield rest
}
