// Reads the effects of requests: the published index, the files in staging, the audit log.
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Gate } from '../harness.ts'
import { send } from '../http.ts'

/** `name version` of each entry of the published index, in its order. */
export async function published(gate: Gate, codename: string): Promise<string[]> {
  const { status, text } = await send(gate.aptPort, {
    method: 'GET',
    path: `/repos/dists/${codename}/main/binary-amd64/Packages`,
  })
  if (status !== 200) throw new Error(`the index of ${codename} is ${status}`)
  const field = (stanza: string, name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(stanza)?.[1]
  return text
    .split('\n\n')
    .flatMap((stanza) => (field(stanza, 'Package') ? [`${field(stanza, 'Package')} ${field(stanza, 'Version')}`] : []))
}

/** Files in staging, of running and of abandoned uploads. */
export async function staged(gate: Gate): Promise<string[]> {
  const entries = await readdir(join(gate.reposDir, 'staging', 'incoming'), { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map((entry) => entry.name)
}

/** The newest audit entry that matches the query. */
export async function lastAudited(
  gate: Gate,
  query: Record<string, string>,
): Promise<Record<string, unknown> | undefined> {
  const { body } = await gate.call<{ items: Record<string, unknown>[] }>(
    'GET',
    `/artifacts/audit/logs?${new URLSearchParams({ per_page: '1', ...query }).toString()}`,
  )
  return body.items[0]
}
