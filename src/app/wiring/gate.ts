// The way in: scanners, the gate's steps, intake, and review.
import { createEngines, type Overrides } from './engines.ts'
import { createContents } from '../../gate/contents/contents.ts'
import { antivirusStep } from '../../gate/antivirus.ts'
import { cveScanStep } from '../../gate/cve-scan.ts'
import { dependenciesStep } from '../../gate/dependencies.ts'
import { createDeleteIds } from '../../packages/delete-packages.ts'
import { createIntake } from '../../intake/intake.ts'
import { createPromoteSeveral } from '../../packages/copies/promote-several.ts'
import { createPromote } from '../../packages/copies/promote.ts'
import { hostedPlaces } from '../../packages/records/places.ts'
import { createPublishRecords } from '../../packages/publish-records.ts'
import { createProvenance } from '../../gate/provenance/provenance.ts'
import { readTrustedRoot } from '../../gate/provenance/trusted-root.ts'
import { signatureStep } from '../../gate/signature.ts'
import { createComponentScan } from '../../review/components.ts'
import { createCrossCheck } from '../../review/cross-check.ts'
import { createRefresh } from '../../review/refresh.ts'
import { createRematch } from '../../review/rematch.ts'
import { createReview } from '../../review/review.ts'
import { createComponentReading } from '../../review/component-reading/reading.ts'
import { COMPONENT_ENGINE } from '../../gate/engines/components/match.ts'
import { createVulnscanStatus } from '../../gate/engines/vulnscan-status.ts'
import { rematchNews } from '../../store/advisories/advisories.ts'
import { createComponents } from '../../store/files/components.ts'
import type { Foundation } from './foundation.ts'
import type { Publishing } from './publishing.ts'

export type Gate = Awaited<ReturnType<typeof createGate>>

export async function createGate(foundation: Foundation, publishing: Publishing, overrides: Overrides) {
  const { db, clock, log, bus, audit, pool, staging, manifests, checkpoint, leader, production, onError } = foundation
  const { publisher, pendingDeletions, placed, keys, registry, readers, bring, readOptions } = publishing
  const settings = foundation.settings.current
  const distributions = publishing.active.map(({ distribution }) => distribution)
  const contents = createContents(readers, staging.newPath, readOptions)
  const engines = await createEngines({
    env: foundation.env,
    db,
    clock,
    log,
    distributions,
    overrides,
    onError,
    newPath: staging.newPath,
    contents,
    enriching: () => settings().cve_policy.auto_enrich,
  })
  const { cveScanner, crossScanners, rematchScanner, canaries, advisoryData, enrichment } = engines
  const steps = [
    antivirusStep(engines.antivirus, production, contents),
    cveScanStep(cveScanner, engines.libraryScanner, clock),
    signatureStep({ signers: keys, sourceKeys: publishing.packageKeys, clock, newPath: staging.newPath }),
    dependenciesStep(db),
  ]
  const rooms = { db, clock, bus, audit, pool, staging, manifests, publisher, checkpoint, steps, settings }
  const publishRecords = createPublishRecords({ ...rooms, registry, clean: pendingDeletions.run })
  const provenance = createProvenance({ readers, root: await readTrustedRoot(foundation.env.sigstoreRoot) })
  const intake = createIntake({ ...rooms, registry, onError, publishRecords })

  const engineNames = [cveScanner, ...crossScanners, rematchScanner].map(({ name }) => name)
  const reviewDeps = {
    ...rooms,
    pendingDeletions,
    engines: [...new Set(engineNames), COMPONENT_ENGINE],
    offered: placed,
    onError,
  }
  const components = createComponents(db)
  const componentScan = createComponentScan({
    ...reviewDeps,
    components,
    matcher: engines.componentMatcher,
    readComponents: createComponentReading({ pool: readers, bring, newPath: staging.newPath, options: readOptions }),
    mayWork: leader.isLeader,
  })
  bus.on('package', componentScan.nudge)
  const review = createReview(reviewDeps, { components: componentScan })
  const crossCheck = createCrossCheck({
    ...reviewDeps,
    scanners: crossScanners,
    distributions,
    mayWork: leader.isLeader,
    generation: async () => (await engines.advisories.state()).generation,
  })
  bus.on('package', crossCheck.nudge)
  const rematch = createRematch({
    ...reviewDeps,
    scanner: rematchScanner,
    places: async () => [...distributions, ...(await hostedPlaces(db))],
    covers: engines.covers,
    components: componentScan,
    news: rematchNews(db, engines.advisories),
  })
  const copying = {
    db,
    clock,
    audit,
    pool,
    bus,
    registry,
    onError,
    evidenceThere: rematch.evidenceThere,
    settings: foundation.settings.current,
  }
  const promote = createPromote({ ...copying, publishRecords })
  const promoteSeveral = createPromoteSeveral({ ...copying, publishRecords })
  const deleteIds = createDeleteIds({
    ...{ ...rooms, pendingDeletions, onError },
    offeredOf: ({ distribution }) => placed(distribution),
  })
  const refresh = createRefresh({ ...reviewDeps, log, advisoryData, enrichment, canaries })
  /** whether the step `antivirus`, if it is switched on, could judge a file now */
  const canScanMalware = async () => {
    if (!foundation.settings.current().validation.clamav_scan) return true
    return engines.antivirus ? (await engines.antivirus.status()).available : !production
  }
  const vulnscan = createVulnscanStatus({ advisoryData, canaries, scanner: cveScanner.name })
  return {
    engines,
    intake,
    provenance,
    copying,
    promote,
    promoteSeveral,
    deleteIds,
    components,
    componentScan,
    review,
    reviewDeps,
    canScanMalware,
    crossCheck,
    rematch,
    refresh,
    vulnscan,
  }
}
