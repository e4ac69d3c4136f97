// Makes the rows of distributions agree with the declarations of the deployment, and reports their initialization.
import { sql } from 'kysely'
import type { Distribution } from '../domain/package.ts'
import { isRepository } from '../domain/repositories.ts'
import { archsOf } from '../formats/architectures.ts'
import type { Offered } from '../formats/format.ts'
import type { Clock } from '../kernel/clock.ts'
import { StartError } from '../kernel/start-error.ts'
import type { Db } from '../store/db.ts'

export interface InitResult {
  codename: string
  format: string
  ok: boolean
  message: string
}

/** The parts of a definition that the index of a distribution shows: a change of them is published. */
const shownOf = ({ architectures, component, fullName, release = {}, aliases = [] }: Distribution) => {
  const { origin, label, suite, description, notAutomatic, butAutomaticUpgrades } = release
  const fields = [origin, label, suite, description, notAutomatic, butAutomaticUpgrades]
  return JSON.stringify([architectures, component, fullName, fields, aliases])
}

/**
 * Inserts missing rows and stores the definitions.
 * @param offered declared distributions whose format is switched on
 * @throws StartError that names every distribution with packages that do not fit its definition
 */
export async function ensureDistributions(db: Db, clock: Clock, offered: readonly Offered[]): Promise<void> {
  const rows = await db.selectFrom('distributions').select(['codename', 'definition']).execute()
  const before = new Map(rows.map((row) => [row.codename, row.definition]))
  const faults: string[] = []
  for (const one of offered) {
    const known = before.get(one.distribution.codename)
    const fault = known ? await faultOf(db, known, one) : null
    if (fault !== null) faults.push(fault)
  }
  const taken = offered.flatMap(({ distribution: { codename, aliases = [] } }) =>
    aliases.filter((alias) => before.has(alias)).map((alias) => ({ codename, alias })),
  )
  if (taken.length > 0)
    throw new StartError(
      taken
        .map(
          ({ codename, alias }) =>
            `the alias ${alias} of ${codename} is the codename of a distribution that is served still`,
        )
        .join('; '),
    )
  if (faults.length > 0) throw new StartError(`distributions with packages were changed:\n  - ${faults.join('\n  - ')}`)
  for (const { distribution } of offered) {
    const { codename, format } = distribution
    const known = before.get(codename)
    const next = sql<number>`distributions.revision + 1`
    // Paths may have changed too, so the next publish starts without any state and links every package.
    const restart = known && shownOf(known) !== shownOf(distribution) ? { revision: next, history_floor: next } : {}
    const definition = JSON.stringify(distribution)
    await db
      .insertInto('distributions')
      .values({ codename, format, definition, initialized_at: clock.now() })
      .onConflict((c) => c.column('codename').doUpdateSet({ format, definition, ...restart }))
      .execute()
  }
}

/** Why a distribution's packages do not fit its new definition; null when they do. */
async function faultOf(db: Db, known: Distribution, { format, distribution }: Offered): Promise<string | null> {
  const { codename } = distribution
  const fitting = known.format === format.id ? archsOf(format, distribution) : []
  if (known.format === format.id && known.architectures.every((arch) => fitting.includes(arch))) return null
  const record = await db
    .selectFrom('packages')
    .select(['format', 'arch'])
    .where('distribution', '=', codename)
    .where('arch', 'not in', fitting.length > 0 ? fitting : [''])
    .executeTakeFirst()
  if (!record) return null
  return record.format === format.id
    ? `${codename} has packages for ${record.arch}, which is no longer among its architectures`
    : `${codename} has ${record.format} packages; it cannot become a distribution of ${format.id} packages`
}

/**
 * The stored definitions of distributions that are no longer declared. Their aliases may now be names of other
 * distributions.
 */
export async function formerDistributions(db: Db, declared: readonly Distribution[]): Promise<Distribution[]> {
  const all = await db.selectFrom('distributions').select(['codename', 'definition']).orderBy('codename').execute()
  const rows = all.filter(({ codename }) => !isRepository(codename))
  const names = new Set(declared.flatMap(({ codename, aliases = [] }) => [codename, ...aliases]))
  const codenames = new Set(declared.map(({ codename }) => codename))
  return rows.flatMap(({ codename, definition }) => {
    const aliases = definition.aliases?.filter((alias) => !names.has(alias))
    return codenames.has(codename) ? [] : [{ ...definition, ...(aliases ? { aliases } : {}) }]
  })
}
