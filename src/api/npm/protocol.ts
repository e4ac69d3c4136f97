// npm's form of errors, and the addresses of its registry: which name, version or tag a path means.
import { Problem } from '../../domain/problem.ts'
import { canonicalName } from '../../formats/npm/names.ts'
import type { Protocol } from '../http/protocol.ts'

/** npm prints `error`. */
export const npmProtocol: Protocol = {
  prefix: '/npm',
  errors: { media: 'application/json', body: ({ code, detail }) => ({ error: detail, code }) },
  challenge: { scheme: 'Bearer', parameters: () => ({ realm: 'npm' }) },
}

/** @throws Problem('not_found') for a text that no package may be called */
export function requireName(text: string): string {
  const name = canonicalName(text)
  if (name === null) throw new Problem('not_found', `no package can be called ${text.slice(0, 100)}`)
  return name
}

/** `lib`, `@team/lib`, `lib/1.0.0`, `@team/lib/latest`. @throws Problem('not_found') */
export function readRequested(path: string): { name: string; wanted: string | null } {
  const segments = path.split('/')
  const ofName = path.startsWith('@') ? 2 : 1
  const [wanted = null, ...more] = segments.slice(ofName)
  if (more.length > 0) throw new Problem('not_found', 'there is nothing at this address')
  return { name: requireName(segments.slice(0, ofName).join('/')), wanted }
}
