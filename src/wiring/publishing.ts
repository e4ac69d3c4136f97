// The way out: signing keys, the distributions this deployment offers, the publisher, pending deletions.
import { join } from 'node:path'
import { REPO_FORMAT_WORDS } from '../config/repo-format.ts'
import type { Offered } from '../formats/format.ts'
import { findDistribution, formats, recognize, switchedOn } from '../formats/index.ts'
import type { FormatRegistry } from '../intake/identify.ts'
import { ensureContent } from '../kernel/files.ts'
import { ensureDistributions } from '../publish/initialize.ts'
import { createPublisher } from '../publish/publisher.ts'
import { createPendingDeletions } from '../records/pending-deletions.ts'
import { openKeys } from '../signing/keys.ts'
import { createAuditCheckpoints } from '../store/audit-checkpoints.ts'
import type { Foundation } from './foundation.ts'

export type Publishing = Awaited<ReturnType<typeof createPublishing>>

/** Loads or creates the signing keys and makes sure that every active distribution has its row. */
export async function createPublishing(foundation: Foundation) {
  const { env, db, clock, paths, pool, manifests, bus, checkpoint, onError } = foundation
  const keys = await openKeys(paths.gnupg, clock.now())
  await ensureContent(join(paths.keys, 'gpg.key'), keys.openpgp.publicKeyArmored)
  await ensureContent(join(paths.keys, keys.apk.keyName), keys.apk.publicKeyPem)
  const checkpoints = createAuditCheckpoints({
    db,
    clock,
    directory: paths.audit,
    audit: foundation.audit,
    sign: keys.openpgp.detachBinary,
    mayFile: foundation.leader.isLeader,
  })
  // Beside the checkpoints, so that a copy of the directory can be verified by itself.
  await ensureContent(join(paths.audit, 'gpg.key'), keys.openpgp.publicKeyArmored, 0o600)

  const all: Offered[] = formats.flatMap((format) =>
    format.distributions.map((distribution) => ({ format, distribution })),
  )
  const activeFormats = switchedOn(REPO_FORMAT_WORDS[env.repoFormat])
  const active = all.filter(({ format }) => activeFormats.includes(format))
  const isActive = (codename: string) => active.some(({ distribution }) => distribution.codename === codename)
  const offered = (codename: string): Offered => {
    const found = findDistribution(codename)
    if (!found) throw new Error(`no distribution ${codename}`)
    return found
  }
  const registry: FormatRegistry = { recognize, find: findDistribution, isActive }
  const known = (codename: string) => findDistribution(codename) !== null
  const signers = keys
  const publisher = createPublisher({ db, clock, paths, pool, signers, bus, checkpoint, offered, known, onError })
  const pendingDeletions = createPendingDeletions({ db, clock, pool, manifests, checkpoint, onError })
  await ensureDistributions(db, clock, active)
  return { keys, checkpoints, all, active, activeFormats, isActive, offered, registry, publisher, pendingDeletions }
}
