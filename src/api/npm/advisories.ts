// npm audit from our own advisories: by names and versions, and by the tree of a lockfile.
import { createGunzip } from 'node:zlib'
import { Readable } from 'node:stream'
import { isObject, type Json } from '../../domain/json.ts'
import { invalidField } from '../../domain/problem.ts'
import type { Component, OsvMatcher } from '../../gate/engines/osv/matcher.ts'
import { nextTurn } from '../../kernel/next-turn.ts'
import type { Repositories } from '../../registries/repositories.ts'
import { parseJson } from '../http/bodies.ts'
import { handle, type Call, type Route } from '../http/route.ts'
import { readable } from '../registries/access.ts'
import { bulkAnswer, treeAnswer, type Finding } from './audit-answers.ts'
import { npmAdvisory } from './npm-advisory.ts'
import { postAudits, postBulkAdvisories, postQuickAudits } from './npm.contract.ts'

export interface AdvisoryDeps {
  repositories: Pick<Repositories, 'find' | 'rights'>
  matcher: Pick<OsvMatcher, 'hitsOf'>
}

/** The lockfile of 1,288 packages takes 600 KB. */
const MOST_BYTES = 16 * 1024 ** 2
const MOST_VALUES = 500_000
const MOST_COMPONENTS = 50_000
const MOST_DEPTH = 200
/** Components of one query. */
const TOGETHER = 500

type AuditCall = Pick<Call<{ repo: string }, unknown, unknown>, 'params' | 'caller' | 'raw' | 'bodyStream'>

export function advisoryRoutes({ repositories, matcher }: AdvisoryDeps): Route[] {
  async function body(call: AuditCall): Promise<Json> {
    await readable(repositories, { format: 'npm', name: call.params.repo }, call)
    const sent = await jsonIn(call)
    if (!isObject(sent)) throw invalidField('body', 'is not an object')
    return sent
  }

  async function findingsOf(components: readonly Component[]): Promise<Finding[]> {
    const findings: Finding[] = []
    for (let at = 0; at < components.length; at += TOGETHER) {
      const some = components.slice(at, at + TOGETHER)
      const hits = await matcher.hitsOf('npm', some)
      for (const [i, { name, version }] of some.entries())
        for (const hit of hits[i] ?? [])
          if (hit.advisory.security) findings.push({ version, advisory: npmAdvisory(name, hit) })
      await nextTurn()
    }
    return findings
  }

  const byTree = async (call: AuditCall) => {
    const components = componentsIn(await body(call))
    return treeAnswer(components.length, await findingsOf(components))
  }

  return [
    handle(postBulkAdvisories, async (call) => bulkAnswer(await findingsOf(componentsOf(await body(call))))),
    handle(postAudits, byTree),
    handle(postQuickAudits, byTree),
  ]
}

async function jsonIn({ raw, bodyStream }: AuditCall): Promise<unknown> {
  const sent = Readable.from(bodyStream(), { objectMode: false })
  const isPacked = /^(x-)?gzip$/i.test(raw.headers['content-encoding'] ?? '')
  const unpacked: AsyncIterable<Buffer> = isPacked ? sent.compose(createGunzip()) : sent
  const pieces: Buffer[] = []
  let size = 0
  try {
    for await (const piece of unpacked) {
      if ((size += piece.byteLength) > MOST_BYTES)
        throw invalidField('body', `unpacks to more than ${MOST_BYTES} bytes`)
      pieces.push(piece)
    }
  } catch (error) {
    throw String((error as NodeJS.ErrnoException).code).startsWith('Z_') ? invalidField('body', 'is not gzip') : error
  }
  return parseJson(Buffer.concat(pieces), MOST_VALUES)
}

/** `{ "lib": ["1.0.0"] }` */
function componentsOf(sent: Json): Component[] {
  return bounded(
    Object.entries(sent).flatMap(([name, versions]) =>
      (Array.isArray(versions) ? versions : []).flatMap((version: unknown) => componentOf(name, version)),
    ),
  )
}

function componentOf(name: string, version: unknown): Component[] {
  return typeof version === 'string' ? [{ ecosystem: 'npm', name, version }] : []
}

/** `{ "dependencies": { "lib": { "version": "1.0.0", "dependencies": … } } }` */
function componentsIn(tree: Json): Component[] {
  const found = new Map<string, Component>()
  const walk = (node: Json, depth: number): void => {
    if (depth > MOST_DEPTH || !isObject(node['dependencies'])) return
    for (const [name, one] of Object.entries(node['dependencies'])) {
      if (!isObject(one)) continue
      for (const component of componentOf(name, one['version'])) found.set(`${name}@${component.version}`, component)
      walk(one, depth + 1)
    }
  }
  walk(tree, 0)
  return bounded([...found.values()])
}

function bounded(components: Component[]): Component[] {
  if (components.length > MOST_COMPONENTS) throw invalidField('body', `has more than ${MOST_COMPONENTS} packages`)
  return components
}
