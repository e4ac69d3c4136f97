// The way out: signing keys, the distributions this deployment offers, the publisher, pending deletions.
import { join } from 'node:path'
import { REPO_FORMAT_WORDS } from '../config/repo-format.ts'
import type { Settings } from '../domain/settings.ts'
import type { Offered } from '../formats/format.ts'
import { findDistribution, formats, recognize, switchedOn } from '../formats/index.ts'
import { isolate } from '../formats/threads/isolate.ts'
import { createThreadPool } from '../formats/threads/pool.ts'
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

  const readers = createThreadPool()
  const isolated = formats.map((format) =>
    isolate(format, readers, () => ({ maxUnpackedBytes: unpackedLimit(foundation.settings.current()) })),
  )
  const all: Offered[] = isolated.flatMap((format) =>
    format.distributions.map((distribution) => ({ format, distribution })),
  )
  const activeFormats = switchedOn(REPO_FORMAT_WORDS[env.repoFormat])
  const active = all.filter(({ format }) => activeFormats.some(({ id }) => id === format.id))
  const isActive = (codename: string) => active.some(({ distribution }) => distribution.codename === codename)
  const find = (codename: string) => findDistribution(codename, isolated)
  const offered = (codename: string): Offered => {
    const found = find(codename)
    if (!found) throw new Error(`no distribution ${codename}`)
    return found
  }
  const registry: FormatRegistry = { recognize: (head) => recognize(head, isolated), find, isActive }
  const known = (codename: string) => find(codename) !== null
  const signers = keys
  const publisher = createPublisher({ db, clock, paths, pool, signers, bus, checkpoint, offered, known, onError })
  const pendingDeletions = createPendingDeletions({ db, clock, pool, manifests, checkpoint, onError })
  await ensureDistributions(db, clock, active)
  return {
    readers,
    keys,
    checkpoints,
    all,
    active,
    activeFormats,
    isActive,
    offered,
    registry,
    publisher,
    pendingDeletions,
  }
}

const MIB = 1024 * 1024
/** Packages rarely unpack to more than six times their size. */
const UNPACKED_FACTOR = 8
const LEAST_UNPACKED_BYTES = 512 * MIB
const MOST_UNPACKED_BYTES = 16 * 1024 * MIB

function unpackedLimit({ validation }: Settings): number {
  const wanted = UNPACKED_FACTOR * validation.max_upload_size_mb * MIB
  return Math.min(MOST_UNPACKED_BYTES, Math.max(LEAST_UNPACKED_BYTES, wanted))
}
