// Sends a package file and follows the steps of the gate.
import { attempts } from './attempts.ts'
import type { Transport } from './transport.ts'
import { createEventParser, textOf } from './events.ts'
import { streamedForm, type FileSource } from './multipart.ts'
import type { Operations } from './operations.ts'
import { localProblem, thrownProblem, type Problem, type Result } from './problem.ts'

export type UploadAnswer = Operations['POST /upload']['answer']

export interface UploadStep {
  name: string
  label: string
  status: 'running' | 'done' | 'warn' | 'error'
  message: string
  detail: unknown
}

export interface UploadOptions {
  /** streamed; a browser takes a `Blob` or `File`, which it streams itself */
  file: FileSource | Blob
  distribution: string
  /** SHA-256 in hex; the server refuses other bytes */
  sha256?: string
  signal?: AbortSignal
  /** called when each step of the gate begins and ends; a new try begins again */
  onStep?: (step: UploadStep) => void
}

/** Another try is always safe: for bytes that have already arrived the answer is `already_exists`. */
export function sendUpload(transport: Transport, options: UploadOptions): Promise<Result<UploadAnswer>> {
  return attempts(() => once(transport, options), { repeatable: true, signal: options.signal }, transport.deps)
}

async function once({ send }: Transport, options: UploadOptions): Promise<Result<UploadAnswer>> {
  const { signal, onStep } = options
  const opened = await send('POST', '/upload/stream', { ...bodyOf(options), ...(signal ? { signal } : {}) })
  if (!opened.ok) return opened
  const parser = createEventParser()
  try {
    for await (const text of textOf(opened.data)) {
      for (const { event, data } of parser.push(text)) {
        if (event === 'step') onStep?.(data as UploadStep)
        if (event === 'result') return resultOf(data as Record<string, unknown>, opened)
      }
    }
  } catch (error) {
    return { ok: false, error: thrownProblem(error, signal) }
  }
  return { ok: false, error: localProblem('network_error', 'the stream ended before the result') }
}

function bodyOf({ file, distribution, sha256 }: UploadOptions): RequestInit & { duplex?: 'half' } {
  const fields = { distribution, ...(sha256 ? { sha256 } : {}) }
  if (file instanceof Blob) {
    const form = new FormData()
    for (const [name, value] of Object.entries(fields)) form.set(name, value)
    form.set('file', file)
    return { body: form }
  }
  const form = streamedForm(fields, file)
  const headers = { 'content-type': form.contentType, 'content-length': String(form.contentLength) }
  return { headers, body: form.body(), duplex: 'half' }
}

function resultOf(
  data: Record<string, unknown>,
  { status, headers }: { status: number; headers: Headers },
): Result<UploadAnswer> {
  if (data['status'] !== 'error' || typeof data['code'] !== 'string')
    return { ok: true, data: data as unknown as UploadAnswer, status, headers }
  const { status: _, ...body } = data
  const problem: Problem = {
    ...{ code: data['code'], detail: String(data['detail']), status: null, retryAfterMs: null, body },
    requestId: headers.get('x-request-id'),
  }
  return { ok: false, error: problem }
}
