// The streamed multipart form.
import { expect, test } from 'vitest'
import { streamedForm } from './multipart.ts'

function fileOf(name: string, size: number, ...chunks: string[]) {
  return {
    ...{ name, size },
    async *stream() {
      for (const chunk of chunks) yield new TextEncoder().encode(chunk)
    },
  }
}

test('the length is known before, and names with quotes or line ends add no header', async () => {
  const form = streamedForm({ distribution: 'noble', sha256: 'ab' }, fileOf('a"\r\nx: y.deb', 6, 'abc', 'def'))
  const bytes = await new Response(form.body()).arrayBuffer()
  expect(bytes.byteLength).toBe(form.contentLength)
  const text = new TextDecoder().decode(bytes)
  expect(text).toContain('filename="a%22%0D%0Ax: y.deb"')
  expect(text).toContain('\r\n\r\nabcdef\r\n--')
})

test.each([
  ['shorter', ['abc']],
  ['longer', ['abcdef', 'ghi']],
])('a file that became %s is not sent as if it were whole', async (_, chunks) => {
  const form = streamedForm({}, fileOf('a.deb', 6, ...chunks))
  await expect(new Response(form.body()).arrayBuffer()).rejects.toThrow('changed while it was sent')
})
