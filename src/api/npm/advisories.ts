// npm audit from our own advisories: by names and versions, and by the tree of a lockfile.
import { createGunzip } from 'node:zlib'
import { Readable } from 'node:stream'
import { invalidField } from '../../domain/problem.ts'
import type { Component, OsvMatcher } from '../../gate/engines/osv/matcher.ts'
import { nextTurn } from '../../kernel/next-turn.ts'
import type { Repositories } from '../../registries/repositories.ts'
import { parseJson } from '../http/bodies.ts'
import { handle, type Call, type Route } from '../http/route.ts'
import { readable } from '../registries/access.ts'
import { npmAdvisory, SEVERITIES, type NpmAdvisory } from './npm-advisory.ts'
import { postAudits, postBulkAdvisories, postQuickAudits } from './npm.contract.ts'

export interface AdvisoryDeps {
  repositories: Pick<Repositories, 'find'>
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
  async function body(call: AuditCall): Promise<Fields> {
    await readable(repositories, { format: 'npm', name: call.params.repo }, call.caller)
    const sent = await jsonIn(call)
    if (!isFields(sent)) throw invalidField('body', 'is not an object')
    return sent
  }

  async function advisoriesOf(components: readonly Component[]) {
    const found = new Map<string, NpmAdvisory>()
    const findings: { id: number; version: string; name: string }[] = []
    for (let at = 0; at < components.length; at += TOGETHER) {
      const some = components.slice(at, at + TOGETHER)
      const hits = await matcher.hitsOf('npm', some)
      for (const [i, { name, version }] of some.entries())
        for (const hit of hits[i] ?? []) {
          if (!hit.advisory.security) continue
          const advisory = npmAdvisory(name, hit)
          found.set(`${advisory.id} ${name}`, advisory)
          findings.push({ id: advisory.id, name, version })
        }
      await nextTurn()
    }
    return { advisories: [...found.values()], findings }
  }

  const byTree = async (call: AuditCall) => {
    const components = componentsIn(await body(call))
    const { advisories, findings } = await advisoriesOf(components)
    return auditAnswer(components.length, advisories, findings)
  }

  return [
    handle(postBulkAdvisories, async (call) => {
      const { advisories } = await advisoriesOf(componentsOf(await body(call)))
      const byName: Record<string, NpmAdvisory[]> = {}
      for (const one of advisories) (byName[one.module_name] ??= []).push(one)
      return byName
    }),
    handle(postAudits, byTree),
    handle(postQuickAudits, byTree),
  ]
}

type Fields = Record<string, unknown>

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

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
function componentsOf(sent: Fields): Component[] {
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
function componentsIn(tree: Fields): Component[] {
  const found = new Map<string, Component>()
  const walk = (node: Fields, depth: number): void => {
    if (depth > MOST_DEPTH || !isFields(node['dependencies'])) return
    for (const [name, one] of Object.entries(node['dependencies'])) {
      if (!isFields(one)) continue
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

/** https://github.com/npm/cli/blob/v6/lib/install/audit.js reads it; paths are the names alone. */
function auditAnswer(
  total: number,
  advisories: readonly NpmAdvisory[],
  findings: readonly { id: number; name: string; version: string }[],
) {
  const shown = advisories.map((one): [string, Fields] => {
    const versions = findings.filter(({ id, name }) => id === one.id && name === one.module_name)
    return [String(one.id), { ...one, findings: versions.map(({ name, version }) => ({ version, paths: [name] })) }]
  })
  const counts = SEVERITIES.map((severity): [string, number] => [
    severity,
    advisories.filter((one) => one.severity === severity).length,
  ])
  return {
    ...{ actions: [], muted: [], advisories: Object.fromEntries(shown) },
    metadata: {
      vulnerabilities: Object.fromEntries(counts),
      ...{ dependencies: total, devDependencies: 0, optionalDependencies: 0, totalDependencies: total },
    },
  }
}
