// The header fields of one state of a file, built once per state instead of for each request.
import { lastModified, type Validators } from './conditions.ts'

/** How a file is labelled and cached. */
export interface FileKind {
  mediaType: string
  /** false: the next publish may put other bytes under the same name */
  immutable: boolean
  cacheControl: string
}

/** Flat lists of names and values, in the form for `writeHead`. */
export interface FileHeaders {
  type: readonly string[]
  /** headers of a 200 that a 304 repeats (RFC 9110 section 15.4.5) */
  state: readonly string[]
  /** all headers of a 200 */
  whole: string[]
}

export function fileHeaders(
  kind: FileKind,
  sizeBytes: number,
  validators: Validators,
  observedMs: number,
): FileHeaders {
  const type = ['Content-Type', kind.mediaType, 'Accept-Ranges', 'bytes']
  const state = [
    ...['ETag', validators.etag],
    ...['Last-Modified', lastModified(validators, observedMs)],
    ...['Cache-Control', kind.cacheControl],
    // Packages are untrusted content: a browser must not interpret one as a page.
    ...['X-Content-Type-Options', 'nosniff'],
  ]
  return { type, state, whole: [...type, ...state, 'Content-Length', String(sizeBytes)] }
}
