// Names that belong to repositories here: no proxy asks its upstream for them, so that nobody there can take their place.
import { sql, type RawBuilder } from 'kysely'
import type { FormatId } from '../domain/package.ts'
import type { Db } from '../store/db.ts'

/**
 * Whether a name is claimed, or was ever published to a hosted repository of the format. A publish and a claim count from their commit
 * on. Names that differ in case only count as one.
 */
export async function isOwned(db: Db, format: FormatId, name: string): Promise<boolean> {
  const { rows } = await sql<{ owned: boolean }>`select ${ownedHere(format, name)} as owned`.execute(db)
  return rows[0]!.owned
}

/** The same as part of another statement. */
export function ownedHere(format: FormatId, name: string): RawBuilder<boolean> {
  const names = [...new Set([name, name.toLowerCase()])]
  return sql<boolean>`(exists (select from repositories r where r.format = ${format} and r.kind = 'hosted' and (
      exists (select from packages p where p.distribution = r.key and p.name = any(${names}::text[]))
      or exists (select from spent_versions s where s.repository = r.key and s.name = any(${names}::text[]))))
    or exists (select from name_claims where format = ${format} and pattern = any(${patternsOf(name.toLowerCase())}::text[])))`
}

/** The patterns that a name falls under: itself, and each of its beginnings with a star. */
function patternsOf(name: string): string[] {
  return [name, ...Array.from(name, (_, at) => `${name.slice(0, at + 1)}*`)]
}
