// What the clients find: libraries, a version that is held, one with a known vulnerability.
import { expect } from 'vitest'
import type { startNpm } from '../../contract/npm.ts'
import type { SampleAdvisory } from '../../samples/osv.ts'

const npm = { ecosystem: 'npm', fixed: null } as const

/** High is held by default, Low is not. */
export const ADVISED: SampleAdvisory[] = [
  { ...npm, id: 'GHSA-aaaa-aaaa-0001', package: 'partly', introduced: '1.1.0', severity: 'high' },
  { ...npm, id: 'GHSA-aaaa-aaaa-0002', package: 'waiting', severity: 'high' },
  { ...npm, id: 'GHSA-aaaa-aaaa-0003', package: 'noticed', severity: 'high' },
  { ...npm, id: 'GHSA-aaaa-aaaa-0004', package: 'holey', fixed: '1.0.1', severity: 'low' },
]

const LIBRARIES: [repo: string, name: string, version: string, tag?: string][] = [
  ['team', 'lib', '1.0.0'],
  ['team', 'lib', '1.1.0'],
  ['team', 'lib', '1.2.0-rc.1', 'next'],
  ['team', '@team/scoped', '1.0.0'],
  ['team', 'partly', '1.0.0'],
  ['team', 'partly', '1.1.0'],
  ['team', 'waiting', '1.0.0'],
  ['team', 'holey', '1.0.0'],
  ['team', 'holey', '1.0.1'],
  ['open', 'free', '1.0.0'],
]

export async function publishLibraries({ gate, publish }: Awaited<ReturnType<typeof startNpm>>): Promise<void> {
  const group = { format: 'npm', name: 'all-private', kind: 'group', members: ['team', 'open'] }
  expect((await gate.call('POST', '/registries', { body: group })).status).toBe(201)
  for (const [repo, name, version, tag] of LIBRARIES) {
    const { status, text } = await publish(repo, name, version, tag === undefined ? {} : { tag })
    expect(status, text).toBe(201)
  }
}
