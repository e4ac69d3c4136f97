// The rows of distributions, made to agree with what the deployment declares; and what is reported of their initialization.
import { sql } from 'kysely'
import type { Distribution } from '../domain/package.ts'
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

/** What the index of a distribution shows of its definition: a change of it is published. */
const shownOf = ({ arch, component, fullName }: Distribution) => JSON.stringify([arch, component, fullName])

/**
 * Inserts the rows that are missing and stores the definitions.
 * @param offered those that are declared and whose format is switched on
 * @throws StartError naming every distribution that has packages which its definition does not fit
 */
export async function ensureDistributions(db: Db, clock: Clock, offered: readonly Offered[]): Promise<void> {
  const active = offered.map(({ distribution }) => distribution)
  const rows = await db.selectFrom('distributions').select(['codename', 'definition']).execute()
  const before = new Map(rows.map((row) => [row.codename, row.definition]))
  const changed = active.filter((distribution) => {
    const known = before.get(distribution.codename)
    return known && (known.format !== distribution.format || known.arch !== distribution.arch)
  })
  const faults: string[] = []
  for (const { codename, format, arch } of changed) {
    const record = await db.selectFrom('packages').select('id').where('distribution', '=', codename).executeTakeFirst()
    const was = before.get(codename)
    if (record)
      faults.push(`${codename} has ${was?.format} packages for ${was?.arch}; it cannot become ${format} for ${arch}`)
  }
  if (faults.length > 0) throw new StartError(`distributions with packages were changed:\n  - ${faults.join('\n  - ')}`)
  for (const distribution of active) {
    const { codename, format } = distribution
    const known = before.get(codename)
    const isShown = known ? shownOf(known) !== shownOf(distribution) : false
    const definition = JSON.stringify(distribution)
    await db
      .insertInto('distributions')
      .values({ codename, format, definition, initialized_at: clock.now() })
      .onConflict((c) =>
        c.column('codename').doUpdateSet({
          format,
          definition,
          ...(isShown ? { revision: sql<number>`distributions.revision + 1` } : {}),
        }),
      )
      .execute()
  }
}

/** The stored definitions of distributions that are not among these codenames: they were declared once. */
export async function formerDistributions(db: Db, declared: ReadonlySet<string>): Promise<Distribution[]> {
  const rows = await db.selectFrom('distributions').select(['codename', 'definition']).orderBy('codename').execute()
  return rows.flatMap(({ codename, definition }) => (definition && !declared.has(codename) ? [definition] : []))
}
