// Where a proxy gets its packages, and its rules.
import type { Selectable } from 'kysely'
import { DEFAULT_CURATION, type Curation } from '../domain/curation.ts'
import { invalidField } from '../domain/problem.ts'
import { registryFormats } from '../formats/index.ts'
import type { SecretBox } from '../kernel/crypto.ts'
import type { Db } from '../store/db.ts'
import type { RepositoriesTable } from '../store/tables.ts'

export interface Upstream {
  url: string
  /** the value of that header; null for none. Left out, it stays as long as the host does */
  authorization?: string | null | undefined
}

/** @throws Problem('validation_error') */
export async function setUpstream(
  tx: Db,
  { seal }: SecretBox,
  before: Selectable<RepositoriesTable>,
  { upstream, curation }: { upstream?: Upstream | undefined; curation?: Partial<Curation> | undefined },
): Promise<void> {
  if (before.kind !== 'proxy') {
    if (upstream || curation) throw invalidField(upstream ? 'upstream' : 'curation', 'only a proxy has it')
    return
  }
  if (!registryFormats.some(({ id, upstream: reading }) => id === before.format && reading))
    throw invalidField('kind', `there are no proxies of ${before.format} yet`)
  const url = upstream?.url.replace(/\/+$/, '') ?? before.upstream_url
  if (!url) throw invalidField('upstream', 'a proxy needs one')
  requireAddress(url)
  const isSameHost = before.upstream_url !== null && new URL(before.upstream_url).origin === new URL(url).origin
  const { authorization = isSameHost ? undefined : null } = upstream ?? { authorization: undefined }
  const rules = { ...DEFAULT_CURATION, ...before.curation, ...curation }
  await tx
    .updateTable('repositories')
    .set({
      upstream_url: url,
      curation: JSON.stringify(rules),
      ...(authorization === undefined ? {} : { upstream_authorization: authorization && seal(authorization) }),
    })
    .where('key', '=', before.key)
    .execute()
  // What another upstream lists under a name is another thing.
  if (before.upstream_url !== null && before.upstream_url !== url)
    await tx.deleteFrom('upstream_listings').where('repository', '=', before.key).execute()
}

function requireAddress(url: string): void {
  const parsed = URL.canParse(url) ? new URL(url) : null
  if (!parsed || !['http:', 'https:'].includes(parsed.protocol) || parsed.search || parsed.hash)
    throw invalidField('upstream.url', 'is no address of a registry')
  if (parsed.username || parsed.password)
    throw invalidField('upstream.url', 'has a credential: send it as `authorization`')
}
