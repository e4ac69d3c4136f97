// Reads an upload form: one file streamed to staging, text fields before or after it. Knows nothing of packages.
import type { FastifyRequest } from 'fastify'
import { invalidField, Problem } from '../domain/problem.ts'
import { tooLarge } from '../intake/receive.ts'
import { requireStorable } from './storable.ts'
import { asError } from '../kernel/errors.ts'

const FIELD_BYTES = 4096
/** What a form adds around the file: boundaries, headers, fields. */
const FORM_BYTES = 64 * 1024

/**
 * Streams the form's file to `store` and hands over each text field as it comes, so that a hopeless upload ends before
 * its bytes came.
 * @returns the text fields
 * @throws Problem('file_too_large') over `maxBytes`, Problem('validation_error') for anything that is no such form
 */
export async function readUploadForm(
  request: FastifyRequest,
  options: {
    maxBytes: number
    store: (file: AsyncIterable<Uint8Array>) => Promise<void>
    field: (name: string, value: string) => void
  },
): Promise<Record<string, string>> {
  if (!request.isMultipart()) throw invalidField('file', 'is required, in a multipart/form-data body')
  const announced = Number(request.headers['content-length'] ?? 0)
  if (announced > options.maxBytes + FORM_BYTES) throw tooLarge(options.maxBytes)
  const fields: Record<string, string> = {}
  let hasFile = false
  try {
    for await (const part of request.parts({
      limits: { fileSize: Infinity, files: 1, fields: 16, fieldSize: FIELD_BYTES, parts: 32 },
    })) {
      if (part.type === 'field') {
        if (part.valueTruncated) throw invalidField(part.fieldname, `is longer than ${FIELD_BYTES} bytes`)
        requireStorable(part.fieldname, part.value)
        const value = String(part.value)
        fields[part.fieldname] = value
        options.field(part.fieldname, value)
      } else if (part.fieldname === 'file') {
        await options.store(part.file)
        hasFile = true
      } else throw invalidField(part.fieldname, 'is not a file field of this form')
    }
  } catch (error) {
    discardRest(request)
    throw error instanceof Problem ? error : formProblem(error)
  }
  if (!hasFile) throw invalidField('file', 'is required')
  return fields
}

/** Node lets an unread body lie once somebody began to read it: the next request on that connection would never be seen. */
function discardRest({ raw }: FastifyRequest): void {
  raw.unpipe()
  raw.resume()
}

/** What the form parser throws is the sender's doing, except what the disk said. */
function formProblem(error: unknown): unknown {
  const { code, syscall } = error as NodeJS.ErrnoException
  if (syscall !== undefined && code !== 'ECONNRESET') return error
  return new Problem(
    'validation_error',
    'the form is damaged or was cut off',
    { errors: [{ field: 'body', message: asError(error).message }] },
    { cause: error },
  )
}
