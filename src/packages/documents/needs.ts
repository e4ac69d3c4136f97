// What the requirements of one package lead to: packages that are offered, or names only.
import { setImmediate as turn } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Capability, Requirement } from '../../domain/package.ts'
import { filesAmong } from '../../domain/packed-facts.ts'
import { unsatisfied } from '../../formats/dependencies.ts'
import type { IntakeFormat, Placed } from '../../formats/intake-format.ts'
import type { Provider } from '../../gate/capability-query.ts'
import type { Db } from '../../store/db.ts'
import type { InventoryRow } from '../records/inventory-query.ts'
import { edgesOf, namedIn } from './edges.ts'
import { spdxIdOf, type SbomEntry } from './entry.ts'
import { purlOf } from './purl.ts'

/** Requirements that are looked at in one turn of the event loop. */
const IN_A_TURN = 100

/** A requirement that no offered package satisfies; known by name only. */
export interface Stub {
  name: string
  /** null when the requirement does not name a package */
  purl: string | null
  ref: string
  spdxId: string
  requirement: string
}

/** The offered packages that satisfy the requirements of a package, and the requirements that none satisfies; without its own. */
export async function needsOf(
  db: Db,
  format: IntakeFormat,
  subject: SbomEntry,
): Promise<{ providers: Provider[]; stubs: Stub[] }> {
  const { row, distribution } = subject
  const { versions } = format
  const edges = (await edgesOf(db, [subject], () => format)).get(row.id)
  if (!edges) return { providers: [], stubs: [] }
  // Requirements that the package itself satisfies are not edges. A package that is not offered is not a provider.
  const foreign = unsatisfied(await ownOffers(db, subject, edges.unmet), new Map(), versions)
  const stubs: Stub[] = []
  for (const [n, requirement] of foreign.entries()) {
    if (n % IN_A_TURN === IN_A_TURN - 1) await turn()
    // `rpmlib(…)` is a capability of the package manager.
    if (!requirement.text.startsWith('rpmlib(')) stubs.push(stubOf(requirement, row, { distribution, format }))
  }
  return {
    providers: edges.providers,
    stubs: [...new Map(stubs.map((stub) => [stub.ref, stub])).values()].sort((a, b) => (a.ref < b.ref ? -1 : 1)),
  }
}

function stubOf(requirement: Requirement, row: InventoryRow, offered: Placed): Stub {
  const { name, text } = namedIn(requirement)
  const ref = `${encodeURIComponent(row.distribution)}?${encodeURIComponent(text)}`
  const purl = name === null ? null : purlOf({ name, version: null, arch: null }, offered)
  return { name: name ?? text, purl, ref, spdxId: spdxIdOf(name ?? text, ref), requirement: text }
}

/** The capabilities of a package that match these requirements. */
async function ownOffers(db: Db, { row }: SbomEntry, requirements: Requirement[]) {
  const paths = requirements.flatMap(({ anyOf }) => anyOf.flatMap(({ name }) => (name.startsWith('/') ? [name] : [])))
  const { provides, files } = await db
    .selectFrom('blobs')
    .select(['files', sql<Capability[] | null>`facts->'provides'`.as('provides')])
    .where('sha256', '=', row.sha256)
    .executeTakeFirstOrThrow()
  return {
    name: row.name,
    version: row.version,
    provides: provides ?? [],
    requirements,
    files: paths.length > 0 ? await filesAmong(files, new Set(paths.map((path) => path.slice(1)))) : [],
  }
}
