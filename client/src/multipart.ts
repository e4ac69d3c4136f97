// A multipart form that is streamed: its length is known before the file is read (RFC 7578).

/** A file that can be read more than once: each try reads it again. */
export interface FileSource {
  name: string
  /** in bytes; exactly this many are sent */
  size: number
  stream(): AsyncIterable<Uint8Array>
}

export interface StreamedForm {
  contentType: string
  contentLength: number
  body(): ReadableStream<Uint8Array<ArrayBuffer>>
}

/** A file name or field in the header of a part, in the form of browsers (WHATWG HTML, section 4.10.22.8). */
const quoted = (text: string) => `"${text.replace(/["\r\n]/g, (one) => encodeURIComponent(one))}"`

export function streamedForm(fields: Record<string, string>, file: FileSource): StreamedForm {
  const boundary = `gatehouse-${crypto.randomUUID()}`
  const encoder = new TextEncoder()
  // Fields are sent first, so that the server can refuse before it reads the file.
  const head = encoder.encode(
    Object.entries(fields)
      .map(
        ([name, value]) => `--${boundary}\r\nContent-Disposition: form-data; name=${quoted(name)}\r\n\r\n${value}\r\n`,
      )
      .join('') +
      `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename=${quoted(file.name)}\r\nContent-Type: application/octet-stream\r\n\r\n`,
  )
  const foot = encoder.encode(`\r\n--${boundary}--\r\n`)

  async function* parts() {
    yield head
    let sent = 0
    for await (const chunk of file.stream()) {
      sent += chunk.byteLength
      if (sent > file.size) break
      yield chunk
    }
    if (sent !== file.size) throw new Error(`${file.name} changed while it was sent`)
    yield foot
  }

  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    contentLength: head.byteLength + file.size + foot.byteLength,
    body() {
      const source = parts()
      return new ReadableStream({
        async pull(controller) {
          const { done, value } = await source.next()
          if (done) controller.close()
          else controller.enqueue(value as Uint8Array<ArrayBuffer>)
        },
        async cancel() {
          await source.return(undefined)
        },
      })
    },
  }
}
