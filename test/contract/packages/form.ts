// The multipart form of an upload: field order, missing and malformed parts, closed connections, sizes.
import { connect } from 'node:net'
import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { assembleDeb, buildDeb, controlText } from '../../samples/deb.ts'
import { buildTar } from '../../samples/tar.ts'
import { API, type Gate } from '../harness.ts'
import { form } from '../http.ts'
import { staged } from './seen.ts'

export function formContract(gate: Gate): void {
  const post = (parts: Parameters<typeof form>[0], path = '/upload/') => gate.call('POST', path, form(parts))
  const file = (value: string | Uint8Array, filename = 'any-name.bin') => ({ name: 'file', value, filename })
  const text = (name: string, value: string) => ({ name, value })

  test.each([
    ['before', ['distribution', 'sha256', 'file']],
    ['behind', ['file', 'sha256', 'distribution']],
    ['around', ['distribution', 'file', 'sha256']],
  ])('the fields may come %s the file', async (where, order) => {
    const deb = await buildDeb({ name: `fields-${where}` })
    const parts = { file: file(deb), distribution: text('distribution', 'bookworm'), sha256: text('sha256', '') }
    const reply = await post(order.map((name) => parts[name as keyof typeof parts]))
    expect(reply).toMatchObject({
      status: 201,
      body: { package: `fields-${where}`, filename: `fields-${where}_1.0-1_amd64.deb` },
    })
  })

  test('the filename of the part and unknown fields are ignored', async () => {
    const deb = await buildDeb({ name: 'renamed' })
    const reply = await post([
      text('comment', 'hello'),
      text('distribution', 'bookworm'),
      file(deb, '../../../etc/cron.d/evil.rpm'),
    ])
    expect(reply).toMatchObject({ status: 201, body: { filename: 'renamed_1.0-1_amd64.deb' } })
  })

  const deb = buildDeb({ name: 'never-stored' })
  const refused: [string, () => Promise<Parameters<typeof form>[0]>, string][] = [
    ['no file', async () => [text('distribution', 'bookworm')], 'file'],
    ['an empty form', async () => [], 'file'],
    ['a file sent as a text field', async () => [text('distribution', 'bookworm'), text('file', 'text')], 'file'],
    ['no distribution', async () => [file(await deb)], 'distribution'],
    [
      'a file field of another name',
      async () => [text('distribution', 'bookworm'), { name: 'package', value: await deb, filename: 'a.deb' }],
      'package',
    ],
    ['two files', async () => [text('distribution', 'bookworm'), file(await deb), file(await deb)], 'body'],
    [
      'a field of 5 kB',
      async () => [text('distribution', 'bookworm'), text('note', 'x'.repeat(5000)), file(await deb)],
      'note',
    ],
    [
      'a field of 5 kB after the file',
      async () => [file(await deb), text('distribution', 'x'.repeat(5000))],
      'distribution',
    ],
    [
      'forty fields',
      async () => [...Array.from({ length: 40 }, (_, n) => text(`f${n}`, 'x')), file(await deb)],
      'body',
    ],
    [
      'two distributions, the last one empty',
      async () => [text('distribution', 'bookworm'), file(await deb), text('distribution', '')],
      'distribution',
    ],
  ]
  test.each(refused)('%s is refused and leaves no file', async (what, parts, field) => {
    for (const path of ['/upload/', '/upload/stream']) {
      const reply = await post(await parts(), path)
      expect([what, path, reply.status, reply.body]).toMatchObject([
        what,
        path,
        400,
        { code: 'validation_error', errors: [{ field }] },
      ])
      expect(await staged(gate)).toEqual([])
    }
  })

  const boundary = { 'content-type': 'multipart/form-data; boundary=b' }
  const head = '--b\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\n'
  test.each([
    ['JSON', '{"file":"x"}', { 'content-type': 'application/json' }],
    ['a web form', 'file=x&distribution=jammy', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['plain text', 'x', { 'content-type': 'text/plain' }],
    ['no content type', 'x', {}],
    ['nothing', '', {}],
    ['a form without boundary', `${head}x\r\n--b--\r\n`, { 'content-type': 'multipart/form-data' }],
    [
      'a form with another boundary',
      `${head}x\r\n--b--\r\n`,
      { 'content-type': 'multipart/form-data; boundary=other' },
    ],
    ['a form cut in a header', '--b\r\ncontent-disposition: form-da', boundary],
    ['a form cut in the file', `${head}half a fi`, boundary],
    ['a form without its end', `${head}whole file\r\n--b`, boundary],
    ['noise', randomBytes(5000), boundary],
    ['a part without a name', '--b\r\n\r\nx\r\n--b--\r\n', boundary],
    ['a part of __proto__', '--b\r\ncontent-disposition: form-data; name="__proto__"\r\n\r\nx\r\n--b--\r\n', boundary],
  ])('%s is refused as an upload form', async (_, body, headers) => {
    for (const path of ['/upload/', '/upload/stream']) {
      const reply = await gate.call('POST', path, { body: Buffer.from(body), headers })
      expect([reply.status, reply.body['code']], reply.text).toEqual([400, 'validation_error'])
      expect(await staged(gate)).toEqual([])
    }
  })

  test.each(['/upload/', '/upload/stream'])('a client of %s that disconnects midway leaves no file', async (path) => {
    const socket = connect(gate.port, '127.0.0.1')
    const lines = [
      `POST ${API}${path} HTTP/1.1`,
      'host: gate',
      `authorization: Bearer ${gate.people.uploader.token}`,
      'content-type: multipart/form-data; boundary=b',
      'content-length: 900000',
    ]
    socket.write(
      `${lines.join('\r\n')}\r\n\r\n--b\r\ncontent-disposition: form-data; name="distribution"\r\n\r\nbookworm\r\n${head}`,
    )
    socket.write(Buffer.alloc(200_000, 'a'))
    await expect.poll(() => staged(gate)).toHaveLength(1)
    socket.destroy()
    await expect.poll(() => staged(gate)).toEqual([])
  })

  test('the size limit applies to the file, with and without an announced length', async () => {
    await gate.call('PATCH', '/settings/', { body: { validation: { max_upload_size_mb: 1 } } })
    try {
      const limit = 1024 * 1024
      // Zeros after the end of the archive make it exactly as large as the limit.
      const control = buildTar([{ name: 'control', content: controlText({ name: 'the-largest' }) }])
      const filled = (fill: number) =>
        assembleDeb({
          control,
          data: Buffer.concat([buildTar([]), Buffer.alloc(fill)]),
          compression: 'none',
        })
      const most = filled(limit - filled(0).length)
      expect(most.length).toBe(limit)
      expect((await post([text('distribution', 'bookworm'), file(most)])).status).toBe(201)
      for (const path of ['/upload/', '/upload/stream']) {
        for (const size of [limit + 512, 3 * limit]) {
          const { body, headers } = form([text('distribution', 'bookworm'), file(Buffer.alloc(size))])
          for (const more of [{}, { 'transfer-encoding': 'chunked' }] as Record<string, string>[]) {
            const reply = await gate.call('POST', path, { body, headers: { ...headers, ...more } })
            expect([path, size, reply.status, reply.body]).toMatchObject([
              path,
              size,
              413,
              { code: 'file_too_large', limit_bytes: limit },
            ])
            expect(await staged(gate)).toEqual([])
          }
        }
      }
    } finally {
      await gate.call('PATCH', '/settings/', { body: { validation: { max_upload_size_mb: 500 } } })
    }
  })
}
