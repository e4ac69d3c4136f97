// A source as clients see it, and as the reader of upstreams takes it. Pure.
import type { Insertable } from 'kysely'
import { isoTime, isoTimeOrNull } from '../kernel/clock.ts'
import type { SourceRow, SourcesTable } from '../store/tables.ts'
import type { UpstreamSource } from '../upstream/source.ts'

const LACKS_KEY = 'the source has no key: set `gpg_key`, or `allow_unsigned` to read it without a signature'

export const lacksKey = ({ keys, allow_unsigned }: { keys: readonly object[]; allow_unsigned?: boolean | undefined }) =>
  keys.length === 0 && !allow_unsigned

/** The source as the reader of upstreams takes it. */
export function upstreamOf(
  row: Pick<
    Insertable<SourcesTable>,
    'type' | 'url' | 'mirrors' | 'distribution' | 'components' | 'architectures' | 'allow_unsigned'
  > &
    Pick<SourceRow, 'keys'>,
): UpstreamSource {
  return {
    type: row.type,
    url: row.url,
    ...(row.mirrors ? { mirrors: row.mirrors } : {}),
    suite: row.distribution ?? null,
    components: row.components,
    architectures: row.architectures,
    keys: row.keys,
    allowUnsigned: row.allow_unsigned,
  }
}

/**
 * A source as clients see it (docs/api-decisions.md, section 8).
 * @param enabled whether it takes part in syncs; a built-in source can be switched off in the settings too
 */
export function sourceView(row: SourceRow, enabled: boolean) {
  return {
    id: row.id,
    key: row.key,
    name: row.name,
    type: row.type,
    url: row.url,
    mirrors: row.mirrors,
    distribution: row.distribution,
    components: row.components,
    arch: row.architectures[0] ?? null,
    architectures: row.architectures,
    target: row.target,
    enabled,
    security: row.security,
    allow_unsigned: row.allow_unsigned,
    has_key: row.keys.length > 0,
    status: row.status,
    last_sync: isoTimeOrNull(row.last_sync),
    pkg_count: row.pkg_count,
    left_out: row.left_out,
    not_carried: row.not_carried ?? [],
    // A source without a key may be added, but is not read.
    error: row.error ?? (lacksKey(row) ? LACKS_KEY : null),
    signed_by: row.signed_by,
    created_at: isoTime(row.created_at),
    created_by: row.created_by,
    updated_at: isoTimeOrNull(row.changed_at),
  }
}
