// Reads an upload form: one file, which is streamed, and text fields before or after it.
import { createHash } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { invalidField, Problem } from '../../domain/problem.ts'
import { tooLarge } from '../../intake/receive.ts'
import { requireStorable } from './storable.ts'
import { sha256Hex } from '../../kernel/crypto.ts'
import { asError } from '../../kernel/errors.ts'

export interface FormShape {
  /** the field with the file */
  file: string
  mostFields: number
  /** of one field */
  fieldBytes: number
  /** most bytes that the form adds to the file: boundaries, headers, fields */
  formBytes: number
}

const SHAPE: FormShape = { file: 'file', mostFields: 16, fieldBytes: 4096, formBytes: 64 * 1024 }

/**
 * Streams the form's file to `store` and passes each text field to `field` as it arrives, so that a bad field ends the
 * upload before the file is received.
 * @returns the text fields; `bodyDigest` of a request with an `Idempotency-Key` is set
 * @throws Problem('file_too_large') over `maxBytes`, Problem('validation_error') for any other body
 */
export async function readUploadForm(
  request: FastifyRequest,
  options: {
    maxBytes: number
    store: (file: AsyncIterable<Uint8Array>, filename: string) => Promise<void>
    field: (name: string, value: string) => void
    shape?: FormShape
  },
): Promise<Record<string, string>> {
  const { file, mostFields, fieldBytes, formBytes } = options.shape ?? SHAPE
  if (!request.isMultipart()) throw invalidField(file, 'is required, in a multipart/form-data body')
  const announced = Number(request.headers['content-length'] ?? 0)
  if (announced > options.maxBytes + formBytes) throw tooLarge(options.maxBytes)
  const fields: Record<string, string> = {}
  const hash = request.headers['idempotency-key'] === undefined ? null : createHash('sha256')
  let hasFile = false
  let left = formBytes
  try {
    for await (const part of request.parts({
      limits: { fileSize: Infinity, files: 1, fields: mostFields, fieldSize: fieldBytes, parts: 2 * mostFields },
    })) {
      if (part.type === 'field') {
        if (part.valueTruncated) throw invalidField(part.fieldname, `is longer than ${fieldBytes} bytes`)
        requireStorable(part.fieldname, part.value)
        const value = String(part.value)
        if ((left -= Buffer.byteLength(value)) < 0)
          throw invalidField('body', `has fields of more than ${formBytes} bytes`)
        fields[part.fieldname] = value
        options.field(part.fieldname, value)
      } else if (part.fieldname === file) {
        await options.store(hash ? hashed(part.file, (chunk) => hash.update(chunk)) : part.file, part.filename)
        hasFile = true
      } else throw invalidField(part.fieldname, 'is not a file field of this form')
    }
  } catch (error) {
    discardRest(request)
    throw error instanceof Problem ? error : formProblem(error)
  }
  if (!hasFile) throw invalidField(file, 'is required')
  if (hash) request.bodyDigest = sha256Hex(JSON.stringify([Object.entries(fields).sort(), hash.digest('hex')]))
  return fields
}

async function* hashed(
  file: AsyncIterable<Uint8Array>,
  update: (chunk: Uint8Array) => void,
): AsyncIterable<Uint8Array> {
  for await (const chunk of file) {
    update(chunk)
    yield chunk
  }
}

/** Reads the rest of the body. Node does not discard a body read in part, so the next request would wait forever. */
function discardRest({ raw }: FastifyRequest): void {
  raw.unpipe()
  raw.resume()
}

/** Errors of the form parser are the client's fault. Errors of system calls are not, except a closed connection. */
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
