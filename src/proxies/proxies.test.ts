// A client that waits for a file: it is told to ask again, and the work goes on.
import { expect, test } from 'vitest'
import type { ReachableFile } from '../store/files/listing-files.ts'
import { createProxies, type ProxyDeps } from './proxies.ts'

const by = { name: 'ada', origin: { ip: null, requestId: null } }
const wanted = { owner: 'npm/world', name: 'slow', filename: 'slow-1.0.0.tgz' }

test('a file that takes longer than clients wait is answered later, by the same work', async () => {
  let file: ReachableFile = { sha256: null, sizeBytes: null, version: '1.0.0', arch: 'any', held: null }
  let end = () => {}
  let begun = 0
  const work = new Promise<void>((resolve) => (end = resolve))
  const deps = {
    repositories: { get: async () => ({ key: 'npm/world', format: 'npm', kind: 'proxy' }) },
    reader: { listing: async () => ({ files: { [wanted.filename]: file } }) },
    upstreamFiles: {
      bring: () => {
        begun++
        return work
      },
    },
    patienceMs: () => 0,
  } as unknown as ProxyDeps
  const { reach } = createProxies(deps)
  await expect(reach(wanted, by)).rejects.toMatchObject({ code: 'not_judged', retryAfterSeconds: 5 })
  const again = createProxies({ ...deps, patienceMs: () => 60_000 }).reach(wanted, by)
  file = { ...file, sha256: 'ab', sizeBytes: 2 }
  end()
  expect(await again).toEqual(file)
  expect(begun).toBe(2)
})
