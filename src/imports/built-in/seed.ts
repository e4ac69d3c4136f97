// Stores the built-in sources at start: new ones are added, and those that nobody changed are updated to this version.
import { sql, type Insertable } from 'kysely'
import { BUILT_IN_SOURCES, BUILT_IN_SOURCE_KEYS, type BuiltInSourceKey } from '../../domain/sources.ts'
import type { Offered } from '../../formats/format.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Db } from '../../store/db.ts'
import type { SourcesTable } from '../../store/tables.ts'
import { ADDRESSES } from './addresses.ts'

type BuiltInRow = Omit<Insertable<SourcesTable>, 'created_at'> & { key: BuiltInSourceKey }

/**
 * The row of a built-in source.
 * @param offered the distribution that takes its packages
 */
export function builtInRow(key: BuiltInSourceKey, { format, distribution }: Offered): BuiltInRow {
  const { label, security } = BUILT_IN_SOURCES[key]
  const { url, portsUrl, mirrors, suite, components, keys } = ADDRESSES[key]
  const [first = ''] = distribution.architectures
  const inArchive = distribution.architectures.filter((arch) => arch === 'amd64')
  const isElsewhere = portsUrl !== undefined && inArchive.length === 0
  return {
    key,
    name: label,
    type: format.repoFormat,
    url: (isElsewhere ? portsUrl : url).replaceAll('{arch}', first),
    mirrors: mirrors ?? null,
    distribution: suite ?? null,
    components: [...(components ?? [])],
    architectures: portsUrl !== undefined && !isElsewhere ? inArchive : [...distribution.architectures],
    keys: JSON.stringify(keys.map(({ name, text }) => ({ name, text }))),
    allow_unsigned: false,
    enabled: true,
    security,
    target: distribution.codename,
    created_by: 'system',
  }
}

/** @param offered the declared distributions; built-in sources of others are not stored */
export async function seedBuiltInSources(db: Db, offered: readonly Offered[], clock: Clock): Promise<void> {
  const stored = await db.selectFrom('sources').select('key').where('key', 'is not', null).execute()
  const known = new Set(stored.map(({ key }) => key))
  for (const key of BUILT_IN_SOURCE_KEYS) {
    const target = offered.find(({ distribution }) => distribution.codename === BUILT_IN_SOURCES[key].distribution)
    if (!target) continue
    const row = builtInRow(key, target)
    if (known.has(key)) await follow(db, row)
    // A source that people created may have its name or its address.
    else
      await db
        .insertInto('sources')
        .values({ ...row, created_at: clock.now() })
        .onConflict((c) => c.doNothing())
        .execute()
  }
}

async function follow(db: Db, { key, created_by: _by, ...row }: BuiltInRow): Promise<void> {
  await db
    .updateTable('sources')
    .set(row)
    .where('key', '=', key)
    .where('changed_at', 'is', null)
    .where(
      sql<boolean>`(url, architectures, keys) is distinct from (${row.url}, ${row.architectures}::text[], ${row.keys}::jsonb)`,
    )
    .execute()
}
