// The way out: signing keys, the distributions this deployment offers, the publisher, pending deletions.
import { dirname, join } from 'node:path'
import { REPO_FORMAT_WORDS } from '../../config/repo-format.ts'
import type { Distribution } from '../../domain/package.ts'
import type { Settings } from '../../domain/settings.ts'
import type { Offered } from '../../formats/format.ts'
import { findRepository, formatOf, formats, recognize, registryFormats, switchedOn } from '../../formats/index.ts'
import type { Placed } from '../../formats/intake-format.ts'
import { isRepository } from '../../domain/repositories.ts'
import { createBring } from '../../formats/reading/bring.ts'
import { isolate } from '../../formats/reading/isolate.ts'
import type { FormatRegistry } from '../../packages/identify.ts'
import { ensureContent } from '../../kernel/files.ts'
import { ensureDistributions, formerDistributions } from '../../publish/initialize.ts'
import { createSigningKeyFiles } from '../../publish/own-key.ts'
import { createPackageKeys } from '../../publish/package-keys.ts'
import { createListingPublisher } from '../../publish/listing/listing-publisher.ts'
import { withListings } from '../../publish/listing/with-listings.ts'
import { createPublisher } from '../../publish/publisher.ts'
import { createReaderPool } from '../../formats/readers/pool.ts'
import { createClientSetups } from '../../serve/client-setups.ts'
import { createHistory } from '../../packages/records/history.ts'
import { createPendingDeletions } from '../../packages/records/pending-deletions.ts'
import { readAuditKey } from '../../publish/signing/audit-keys.ts'
import { openKeys } from '../../publish/signing/keys.ts'
import { createAuditCheckpoints } from '../../audit/checkpoints.ts'
import { createAuditRemoval } from '../../audit/removal.ts'
import { readDeclared } from './declared.ts'
import type { Foundation } from './foundation.ts'
import { createReachedAt, publicUrls } from './public-addresses.ts'

/** The main module of a reader: TypeScript if this process runs from TypeScript. */
const READER = new URL(import.meta.url.endsWith('.ts') ? '../../run-reader.ts' : '../../run-reader.js', import.meta.url)

export type Publishing = Awaited<ReturnType<typeof createPublishing>>

/** Loads or creates the signing keys and makes sure that every active distribution has its row. */
export async function createPublishing(foundation: Foundation) {
  const { env, db, clock, paths, pool, manifests, bus, checkpoint, onError } = foundation
  const keys = await openKeys(paths.gnupg, clock.now())
  const { newPath } = foundation.staging
  const readable = dirname(newPath())
  const readers = createReaderPool({ entry: READER, readable })
  // As many as syncs that run at the same time. Syncs have their own readers, so that uploads do not wait for them.
  const slowReaders = createReaderPool({ entry: READER, readable, mostReaders: 2 })
  const packageKeys = createPackageKeys({
    ...{ db, clock, own: () => keys.openpgp.publicKeyArmored, readers },
    path: join(paths.keys, 'packages.key'),
  })
  await packageKeys.restore()
  await ensureContent(join(paths.keys, keys.apk.keyName), keys.apk.publicKeyPem)
  const checkpoints = createAuditCheckpoints({
    db,
    clock,
    directory: paths.audit,
    audit: foundation.audit,
    sign: keys.openpgp.detachBinary,
    mayFile: foundation.leader.isLeader,
  })
  const auditKey = await readAuditKey(paths.gnupg)
  const auditRemoval = createAuditRemoval({
    ...{ db, clock, checkpoints, directory: paths.audit, audit: foundation.audit, sign: keys.openpgp.detachBinary },
    key: auditKey,
    isSigned: keys.isSigned,
  })

  const readOptions = () => ({ maxUnpackedBytes: unpackedLimit(foundation.settings.current()) })
  const bring = createBring(readable, newPath)
  const isolation = { pool: readers, bring, options: readOptions }
  const isolated = formats.map((format) => isolate(format, isolation))
  const libraries = registryFormats.map((format) => isolate(format, isolation))
  const offer = (distribution: Distribution): Offered => ({
    format: isolated.find(({ id }) => id === distribution.format) ?? formatOf(distribution.format),
    distribution,
  })
  const activeFormats = switchedOn(REPO_FORMAT_WORDS[env.repoFormat])
  const declared = await readDeclared(env)
  const active = declared.filter(({ format }) => activeFormats.some(({ id }) => id === format)).map(offer)
  await ensureDistributions(db, clock, active)
  const former = await formerDistributions(db, declared)
  const all = [...declared, ...former].map(offer)
  const byCodename = new Map(all.map((one) => [one.distribution.codename, one]))
  const activeCodenames = new Set(active.map(({ distribution }) => distribution.codename))
  const isActive = (place: string) => activeCodenames.has(place) || isRepository(place)
  const find = (codename: string) => byCodename.get(codename) ?? null
  const offered = (codename: string): Offered => existing(find(codename), codename)
  const place = (key: string): Placed | null => find(key) ?? findRepository(key, libraries)
  const placed = (key: string): Placed => existing(place(key), key)
  const registry: FormatRegistry = {
    recognize: (head) => recognize(head, isolated),
    find,
    place,
    isActive,
    distributions: all.map(({ distribution }) => distribution),
  }
  const known = (codename: string) => find(codename) !== null
  const signers = keys
  const listings = createListingPublisher({
    ...{ db, clock, paths, checkpoint, readers, onError },
    findRepository: (key) => findRepository(key, libraries),
  })
  const publisher = withListings(
    createPublisher({ db, clock, paths, pool, signers, bus, checkpoint, offered, known, onError }),
    listings,
  )
  const signingKeyFiles = createSigningKeyFiles({ keys, clock, paths, packageKeys, publisher })
  await signingKeyFiles.prepare()
  const pendingDeletions = createPendingDeletions({ db, clock, pool, manifests, checkpoint, onError })
  const history = createHistory({ db, clock, days: () => foundation.settings.current().retention.history_days })
  const setups = createClientSetups(active, () => ({
    openpgpArmored: keys.openpgp.publicKeyArmored,
    apk: { name: keys.apk.keyName, pem: keys.apk.publicKeyPem },
  }))
  const reachedAt = createReachedAt({
    configured: () => publicUrls(env, foundation.settings.current().addresses),
    trustedProxies: env.trustedProxies,
  })
  return {
    setups,
    reachedAt,
    formats: isolated,
    readers,
    slowReaders,
    bring,
    readOptions,
    keys,
    packageKeys,
    signingKeyFiles,
    checkpoints,
    auditRemoval,
    auditKey,
    all,
    active,
    activeFormats,
    isActive,
    offered,
    placed,
    libraries,
    registry,
    publisher,
    listings,
    pendingDeletions,
    history,
  }
}

/** @throws Error for a place that is nowhere declared, which is a bug */
function existing<Found>(found: Found | null, place: string): Found {
  if (!found) throw new Error(`no place ${place}`)
  return found
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
