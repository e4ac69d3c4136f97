// File modes of a started service: everybody may read the published trees, only the owner everything else.
import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { buildDeb } from '../samples/deb.ts'
import { startGate, type Gate } from './harness.ts'

/** A web server may run as another user. Files in the private `pool/` are hard links of those in the trees. */
const SERVED = /^(dists|rpm|apk|keys|\.generations)(\/|$)/

async function modesBelow(gate: Gate): Promise<{ path: string; mode: number; isDirectory: boolean }[]> {
  const names = await readdir(gate.reposDir, { recursive: true })
  const found = []
  for (const name of names) {
    const info = await lstat(join(gate.reposDir, name))
    if (info.isFile() || info.isDirectory())
      found.push({ path: name, mode: info.mode & 0o777, isDirectory: info.isDirectory() })
  }
  return found
}

test('other users can read only the published trees', async () => {
  // The same umask as main.ts sets.
  const umask = process.umask(0o077)
  const gate = await startGate()
  try {
    const reply = await gate.upload(await buildDeb({ name: 'hello' }), { distribution: 'bookworm' })
    expect(reply.body['status'], reply.text).toBe('published')
    await gate.call('GET', '/artifacts/audit/logs')
    const found = await modesBelow(gate)
    const isPoolFile = ({ path, isDirectory }: (typeof found)[0]) => path.startsWith('pool/') && !isDirectory
    const served = found.filter((one) => SERVED.test(one.path) || isPoolFile(one))
    const closed = found.filter((one) => !served.includes(one))
    expect(served.length).toBeGreaterThan(10)
    expect(closed.length).toBeGreaterThan(10)
    for (const { path, mode, isDirectory } of served)
      expect([path, (mode & (isDirectory ? 0o055 : 0o044)).toString(8)]).toEqual([path, isDirectory ? '55' : '44'])
    expect(closed.filter(({ mode }) => (mode & 0o077) !== 0).map(({ path }) => path)).toEqual([])
  } finally {
    process.umask(umask)
    await gate.close()
  }
})
