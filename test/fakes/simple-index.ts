// An index of Python packages of somebody else, which counts what it is asked and can lie about everything.
import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface IndexedFile {
  filename: string
  bytes: Buffer
  /** ISO 8601 */
  uploaded?: string
  /** the text beside it */
  metadata?: string
  /** over those of the list */
  listed?: Record<string, unknown>
}

type Answer = (request: IncomingMessage, response: ServerResponse) => void

export interface SimpleIndex {
  /** of the list of projects */
  url: string
  /** paths that were asked for */
  asked: string[]
  /** what lists are given as */
  forms: { json: boolean }
  put(project: string, files: readonly IndexedFile[]): void
  remove(project: string): void
  /** answers a path, without its first slash, in another way */
  lie(path: string, answer: Answer): void
  /** every request waits until this is resolved */
  holdUntil(released: Promise<void>): void
  close(): Promise<void>
}

const JSON_MEDIA = 'application/vnd.pypi.simple.v1+json'
const sha256 = (bytes: string | Buffer) => createHash('sha256').update(bytes).digest('hex')
const escaped = (text: unknown) =>
  String(text).replace(/&/g, '&amp;').replace(/"/g, '&quot;').replace(/</g, '&lt;').replace(/>/g, '&gt;')

export async function startSimpleIndex(): Promise<SimpleIndex> {
  const contents = new Map<string, Buffer>()
  const lists = new Map<string, Record<string, unknown>[]>()
  const lies = new Map<string, Answer>()
  const asked: string[] = []
  const forms = { json: true }
  let released = Promise.resolve()

  function sendList(project: string, { headers }: IncomingMessage, response: ServerResponse): void {
    const files = lists.get(project)!
    const isJson = forms.json && (headers.accept ?? '').includes(JSON_MEDIA)
    const body = isJson ? JSON.stringify({ meta: { 'api-version': '1.1' }, name: project, files }) : pageOf(files)
    const etag = `"${sha256(body)}"`
    if (headers['if-none-match'] === etag) response.writeHead(304).end()
    else response.writeHead(200, { etag, 'content-type': isJson ? JSON_MEDIA : 'text/html' }).end(body)
  }

  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? '').slice(1)
    asked.push(path)
    void released.then(() => {
      const lie = lies.get(path)
      const project = /^simple\/([^/]+)\/$/.exec(path)?.[1]
      const content = contents.get(path)
      if (lie) lie(request, response)
      else if (project !== undefined && lists.has(project)) sendList(project, request, response)
      else if (content) response.writeHead(200).end(content)
      else response.writeHead(404).end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/simple`

  return {
    ...{ url, asked, forms },
    put(project, files) {
      const listed = files.map(({ filename, bytes, uploaded, metadata, listed: more = {} }) => {
        contents.set(`files/${filename}`, bytes)
        if (metadata !== undefined) contents.set(`files/${filename}.metadata`, Buffer.from(metadata))
        return {
          ...{ filename, url: `../../files/${filename}`, hashes: { sha256: sha256(bytes) }, size: bytes.length },
          ...(uploaded === undefined ? {} : { 'upload-time': uploaded }),
          ...(metadata === undefined ? {} : { 'core-metadata': { sha256: sha256(metadata) } }),
          ...more,
        }
      })
      lists.set(project, listed)
    },
    remove: (project) => void lists.delete(project),
    lie: (path, answer) => void lies.set(path, answer),
    holdUntil: (until) => void (released = until),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function pageOf(files: readonly Record<string, unknown>[]): string {
  const links = files.map((file) => {
    const { sha256 } = file['hashes'] as { sha256: string }
    const python = file['requires-python']
    const more = [
      ...(python ? [`data-requires-python="${escaped(python)}"`] : []),
      ...(typeof file['yanked'] === 'string' ? [`data-yanked="${escaped(file['yanked'])}"`] : []),
    ]
    return `<a href="${escaped(file['url'])}#sha256=${sha256}" ${more.join(' ')}>${escaped(file['filename'])}</a><br/>`
  })
  return ['<!DOCTYPE html><html><body><h1>Links</h1>', ...links, '</body></html>'].join('\n')
}
