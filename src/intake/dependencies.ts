// The installability step: can what the package needs be had from the same distribution? A warning, never a hold.
import { sql } from 'kysely'
import { unsatisfied } from '../formats/dependencies.ts'
import type { Db } from '../store/db.ts'
import type { Step } from './arrival.ts'

/** What published packages of a distribution offer under these names. */
export async function offersOf(
  db: Db,
  codename: string,
  names: readonly string[],
): Promise<Map<string, { version: string | null }[]>> {
  const { rows } = await sql<{ name: string; version: string | null }>`
    select name, version from capabilities where distribution = ${codename} and name = any(${[...names]}::text[])`.execute(
    db,
  )
  const offers = new Map<string, { version: string | null }[]>()
  for (const row of rows) {
    const list = offers.get(row.name)
    if (list) list.push(row)
    else offers.set(row.name, [row])
  }
  return offers
}

export function dependenciesStep(db: Db): Step {
  return {
    key: 'dependencies',
    label: 'Dependencies',
    async run(candidate) {
      const { facts, format, distribution } = candidate
      const names = facts.requirements.filter((r) => r.strong).flatMap((r) => r.anyOf.map((relation) => relation.name))
      const offers = await offersOf(db, distribution.codename, [...new Set(names)])
      const missing = unsatisfied(facts, offers, format.versions).map((requirement) => requirement.text)
      if (missing.length === 0) {
        return {
          missing,
          verdict: {
            name: 'dependencies',
            outcome: 'pass',
            word: 'satisfied',
            message: 'every dependency is published here',
          },
        }
      }
      const message = `not published in ${distribution.codename}: ${missing.slice(0, 10).join('; ')}${missing.length > 10 ? ' …' : ''}`
      return {
        missing,
        verdict: { name: 'dependencies', outcome: 'warn', word: 'missing', message, detail: { missing } },
      }
    },
  }
}
