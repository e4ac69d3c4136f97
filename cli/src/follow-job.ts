// Follows a job that reads sources or fills a mirror.
import type { Client } from 'gatehouse-client'
import type { Context } from './command.ts'
import { failed, failureOf } from './failure.ts'
import { plain } from './terminal.ts'

/** Prints the lines of the job as progress. @throws Failure when it cannot be followed to its end */
export async function followJob({ terminal, signal }: Context, client: Client, path: string): Promise<void> {
  for await (const result of client.events(path, { signal })) {
    if (!result.ok) {
      if (result.error.status !== null && result.error.status < 500) throw failureOf(result.error)
      continue
    }
    const line = result.data.data as { message?: string; job_id?: number }
    // The last event is the job.
    if (line.job_id !== undefined) return
    if (line.message) terminal.note(plain(line.message))
  }
  throw failed(signal.aborted ? 'interrupted' : 'the job could not be followed to its end')
}
