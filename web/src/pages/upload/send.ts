// Sends one file. `fetch` does not report how much was sent, so this uses XMLHttpRequest; its text is read as the stream arrives.
import { createEventParser } from '../../../../client/src/events.ts'
import { parseObject, retryAfterOf } from '../../../../client/src/problem.ts'
import { base, type Answered } from '../../api/api.ts'

export interface Step {
  name: string
  label: string
  status: 'running' | 'done' | 'warn' | 'error'
  message: string
}

export type UploadAnswer = Answered<'POST /upload'>

export type Outcome =
  | { kind: 'answered'; answer: UploadAnswer }
  | { kind: 'refused'; code: string; detail: string; body: Record<string, unknown>; retryAfterMs: number | null }
  | { kind: 'cancelled' }

interface Watch {
  signal: AbortSignal
  onSent(bytes: number): void
  onStep(step: Step): void
}

const RETRIED = new Set([0, 429, 502, 503, 504])
const RETRY_MS = 3_000

export function sendFile(file: File, distribution: string, { signal, onSent, onStep }: Watch): Promise<Outcome> {
  return new Promise((resolve) => {
    const request = new XMLHttpRequest()
    const parser = createEventParser()
    let read = 0
    let result: Record<string, unknown> | null = null

    const form = new FormData()
    // Fields are sent first, so that the server can refuse before it reads the file.
    form.set('distribution', distribution)
    form.set('file', file)

    const take = () => {
      if (request.status !== 200) return
      const text = request.responseText
      for (const { event, data } of parser.push(text.slice(read))) {
        if (event === 'step') onStep(data as Step)
        if (event === 'result') result = data as Record<string, unknown>
      }
      read = text.length
    }
    const refused = (body: Record<string, unknown>, retryAfterMs: number | null) =>
      resolve({ kind: 'refused', code: String(body['code']), detail: String(body['detail']), body, retryAfterMs })

    request.upload.onprogress = ({ loaded, total }) => onSent(Math.round((loaded / Math.max(1, total)) * file.size))
    request.upload.onload = () => onSent(file.size)
    request.onprogress = take
    request.onabort = () => resolve({ kind: 'cancelled' })
    request.onloadend = () => {
      take()
      if (result) {
        const { status } = result
        if (status === 'error') refused(result, null)
        else resolve({ kind: 'answered', answer: result as unknown as UploadAnswer })
        return
      }
      if (signal.aborted) return
      const problem = parseObject(request.responseText) ?? {
        code: 'network_error',
        detail: 'the connection was lost; the same bytes can be sent again safely',
      }
      const headers = new Headers()
      const after = request.getResponseHeader('retry-after')
      if (after) headers.set('retry-after', after)
      const wait = RETRIED.has(request.status) || request.status === 200 ? (retryAfterOf(headers) ?? RETRY_MS) : null
      refused(problem, wait)
    }
    signal.addEventListener('abort', () => request.abort())
    request.open('POST', new URL('api/v1/upload/stream', base))
    request.send(form)
  })
}
