// An index of Python packages of somebody else, which counts what it is asked and can lie about everything.
import { createHash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { startLyingServer, type LyingServer } from './lying-server.ts'

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

/** Its `url` is that of the list of projects. */
export interface SimpleIndex extends LyingServer {
  /** what lists are given as */
  forms: { json: boolean }
  put(project: string, files: readonly IndexedFile[]): void
  remove(project: string): void
}

const JSON_MEDIA = 'application/vnd.pypi.simple.v1+json'
const sha256 = (bytes: string | Buffer) => createHash('sha256').update(bytes).digest('hex')
const escaped = (text: unknown) =>
  String(text).replace(/&/g, '&amp;').replace(/"/g, '&quot;').replace(/</g, '&lt;').replace(/>/g, '&gt;')

export async function startSimpleIndex(): Promise<SimpleIndex> {
  const contents = new Map<string, Buffer>()
  const lists = new Map<string, Record<string, unknown>[]>()
  const forms = { json: true }

  function sendList(project: string, { headers }: IncomingMessage, response: ServerResponse): void {
    const files = lists.get(project)!
    const isJson = forms.json && (headers.accept ?? '').includes(JSON_MEDIA)
    const body = isJson ? JSON.stringify({ meta: { 'api-version': '1.1' }, name: project, files }) : pageOf(files)
    const etag = `"${sha256(body)}"`
    if (headers['if-none-match'] === etag) response.writeHead(304).end()
    else response.writeHead(200, { etag, 'content-type': isJson ? JSON_MEDIA : 'text/html' }).end(body)
  }

  const server = await startLyingServer((path, request, response) => {
    const project = /^simple\/([^/]+)\/$/.exec(path)?.[1]
    const content = contents.get(path)
    if (project !== undefined && lists.has(project)) sendList(project, request, response)
    else if (content) response.writeHead(200).end(content)
    else response.writeHead(404).end()
  })

  return {
    ...{ ...server, url: `${server.url}/simple`, forms },
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
