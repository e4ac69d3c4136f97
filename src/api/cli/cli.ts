// /cli/gatehouse.mjs: the command as one file, in the version of the service and without dependencies.
import { readFile } from 'node:fs/promises'
import { Problem } from '../../domain/problem.ts'
import { evaluate } from '../../serve/files/conditions.ts'
import { sha256Hex } from '../../kernel/crypto.ts'
import { getCli, getCliDigest } from './cli.contract.ts'
import { handle, type Route } from '../http/route.ts'

export interface CliDeps {
  /** of the file that the build made */
  path: string
  version: string
}

export function cliRoutes({ path, version }: CliDeps): Route[] {
  // 0.7 MB, read at the first request: most services never get one.
  let loaded: Promise<{ bytes: Buffer; digest: string }> | null = null
  const load = async () => {
    const bytes = await readFile(path)
    return { bytes, digest: sha256Hex(bytes) }
  }
  const file = () => {
    loaded ??= load()
    return loaded.catch(() => {
      loaded = null
      throw new Problem('not_found', 'this build of the service has no command')
    })
  }
  return [
    handle(getCli, async ({ raw, reply }) => {
      const { bytes, digest } = await file()
      const etag = `"${digest}"`
      // Clients see a new version at once, and an unchanged one costs no transfer.
      reply.headers({ etag, 'cache-control': 'no-cache', 'x-gatehouse-version': version })
      const condition = { 'if-none-match': raw.headers['if-none-match'] }
      if (evaluate(condition, { etag, changedAt: 0, settled: true }, 0) === 'not_modified')
        return reply.code(304).send()
      return reply.type('text/javascript; charset=utf-8').send(bytes)
    }),
    handle(getCliDigest, async ({ reply }) => {
      const { digest } = await file()
      return reply
        .headers({ 'cache-control': 'no-cache', 'x-gatehouse-version': version })
        .type('text/plain; charset=utf-8')
        .send(`${digest}  gatehouse.mjs\n`)
    }),
  ]
}
