// /upload and /upload/stream: receive a package file and pass it to the intake.
import type { FastifyReply } from 'fastify'
import { invalidField } from '../../domain/problem.ts'
import { requireInside } from '../../domain/scopes.ts'
import type { Settings } from '../../domain/settings.ts'
import type { Log } from '../../kernel/log.ts'
import type { StepEvent } from '../../gate/step.ts'
import type { IntakeResult, Meta, Source } from '../../packages/arrival.ts'
import type { Intake } from '../../intake/intake.ts'
import { readUploadForm } from '../http/multipart.ts'
import { problemOf } from '../http/problems.ts'
import { handle, type Route, type SignedCall } from '../http/route.ts'
import { errorEvent, openStream, type EventStream } from '../http/sse.ts'
import { postUpload, postUploadStream } from './upload.contract.ts'

export interface UploadDeps {
  intake: Intake
  settings(): Settings
  log: Log
}

export function uploadRoutes(deps: UploadDeps): Route[] {
  return [
    handle(
      postUpload,
      async (call) => {
        const { reply, query } = call
        const result = await deps.intake.accept(sourceOf(deps, call), metaOf(call))
        const { status, body } = answerOf(result, query.strict)
        reply.code(status).header('x-package-status', result.status)
        return body
      },
      {
        // Reads a file of any size without keeping it.
        async digestBody(request) {
          await readUploadForm(request, { maxBytes: mostBytes(deps), store: drain, field: () => {} })
        },
      },
    ),
    handle(postUploadStream, async (call) => {
      const { raw, reply } = call
      const events = eventsOf(reply)
      try {
        const source = { ...sourceOf(deps, call), progress: events.step }
        const result = await deps.intake.accept(source, metaOf(call))
        events.end(result.status === 'published' ? 'done' : 'warn', result.message, result)
      } catch (error) {
        // An error before the stream is open is sent with its HTTP status.
        if (!events.isOpen()) throw error
        const { problem, isBug } = problemOf(error, raw.id)
        if (isBug) deps.log.error({ request_id: raw.id, err: error }, 'upload failed')
        events.end('error', problem.detail, errorEvent(problem))
      }
      return undefined
    }),
  ]
}

/** The event stream of one upload. The first step opens it. */
function eventsOf(reply: FastifyReply) {
  let stream: EventStream | null = null
  const open = () => (stream ??= openStream(reply))
  const validation = (status: StepEvent['status'], message: string) =>
    open().send({ name: 'validation', label: 'Validation', status, message, detail: null }, 'step')
  return {
    isOpen: () => stream !== null,
    step(event: StepEvent) {
      const isFirst = stream === null
      open().send(event, 'step')
      if (isFirst) validation('running', '')
    },
    end(status: StepEvent['status'], message: string, result: unknown) {
      validation(status, message)
      open().send(result, 'result')
      open().sendText('done')
      open().close()
    },
  }
}

type UploadCall = Pick<SignedCall<unknown, unknown, unknown>, 'raw' | 'caller' | 'origin' | 'admitAgain'>

/** The source that reads the form when the intake asks for the file. */
function sourceOf(deps: UploadDeps, { raw, caller, admitAgain }: UploadCall): Source {
  return {
    async deliver(to) {
      const fields = await readUploadForm(raw, {
        maxBytes: mostBytes(deps),
        store: to.store,
        field(name, value) {
          if (name === 'distribution' && value) {
            to.target(value)
            // Checked before the rest of the file is received. The intake checks everything once the file was read.
            requireInside(caller.scopes ?? {}, { distribution: value })
          }
          if (name === 'sha256' && value && !/^[0-9a-f]{64}$/i.test(value))
            throw invalidField('sha256', 'is not a SHA-256 in hex')
        },
      })
      if (!fields['distribution']) throw invalidField('distribution', 'is required')
      // 512 MB may take 36 hours. A credential that was revoked meanwhile publishes nothing.
      const { scopes } = await admitAgain()
      return { declaredSha256: fields['sha256'] || null, scopes: scopes ?? null }
    },
  }
}

const mostBytes = ({ settings }: UploadDeps) => settings().validation.max_upload_size_mb * 1024 * 1024

async function drain(file: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const _ of file);
}

function metaOf({ caller, origin }: UploadCall): Meta {
  return { method: 'upload', importedBy: caller.name, origin }
}

/** With `?strict=true` a held package is not answered 201, for scripts that check only the status. */
function answerOf(result: IntakeResult, strict: boolean): { status: number; body: unknown } {
  if (strict && (result.status === 'quarantined' || result.status === 'rejected')) {
    return { status: 409, body: { ...result, code: 'policy_blocked', detail: result.message } }
  }
  if (strict && result.status === 'pending_review') return { status: 202, body: result }
  return { status: result.status === 'rejected' ? 200 : 201, body: result }
}
