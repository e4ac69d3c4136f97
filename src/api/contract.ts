// All declarations of the API without handlers, for the OpenAPI document at build time and for TypeScript clients.
import * as artifactDetails from './artifacts/details.contract.ts'
import * as artifacts from './artifacts/artifacts.contract.ts'
import * as audit from './artifacts/audit.contract.ts'
import * as apiTokens from './auth/tokens.contract.ts'
import * as auth from './auth/auth.contract.ts'
import * as backup from './backup/backup.contract.ts'
import * as cli from './cli/cli.contract.ts'
import * as dashboard from './dashboard/dashboard.contract.ts'
import * as downloads from './downloads/downloads.contract.ts'
import * as device from './auth/device.contract.ts'
import * as drift from './artifacts/drift.contract.ts'
import * as distributionDetails from './distributions/details.contract.ts'
import * as distributions from './distributions/distributions.contract.ts'
import * as importGroups from './import/groups.contract.ts'
import * as importReservations from './import/reservations.contract.ts'
import * as importResolve from './import/resolve.contract.ts'
import * as importMirrorJobs from './import/mirror-jobs.contract.ts'
import * as importMirror from './import/mirror.contract.ts'
import * as importSeveral from './import/several.contract.ts'
import * as importSync from './import/sync.contract.ts'
import * as imports from './import/sources.contract.ts'
import * as installability from './distributions/installability.contract.ts'
import * as health from './health/health.contract.ts'
import * as machines from './machines/machines.contract.ts'
import * as mfa from './auth/mfa.contract.ts'
import * as logs from './logs/logs.contract.ts'
import * as npm from './npm/npm.contract.ts'
import * as oidc from './auth/oidc.contract.ts'
import * as openapi from './openapi/openapi.contract.ts'
import * as packages from './packages/packages.contract.ts'
import * as readers from './readers/readers.contract.ts'
import * as sbom from './sbom/sbom.contract.ts'
import * as securityAdvisory from './security/advisory.contract.ts'
import * as securityAssign from './security/assign.contract.ts'
import * as securityDecide from './security/decide.contract.ts'
import * as securityDecisions from './security/decisions.contract.ts'
import * as securityEngines from './security/engines.contract.ts'
import * as securityEvidence from './security/evidence.contract.ts'
import * as securityExports from './security/exports.contract.ts'
import * as securityListing from './security/listing.contract.ts'
import * as securityPolicy from './security/policy.contract.ts'
import * as pypi from './pypi/pypi.contract.ts'
import * as proxies from './registries/proxies.contract.ts'
import * as registries from './registries/registries.contract.ts'
import * as securityQueue from './security/queue.contract.ts'
import * as retention from './settings/retention.contract.ts'
import * as settings from './settings/settings.contract.ts'
import * as setup from './setup/setup.contract.ts'
import * as tasks from './tasks/tasks.contract.ts'
import * as uploadMine from './upload/mine.contract.ts'
import * as upload from './upload/upload.contract.ts'
import * as webhooks from './webhooks/webhooks.contract.ts'
import type { Declaration } from './http/route.ts'

const modules: readonly object[] = [
  artifacts,
  artifactDetails,
  audit,
  apiTokens,
  auth,
  backup,
  cli,
  dashboard,
  device,
  distributions,
  distributionDetails,
  downloads,
  drift,
  health,
  installability,
  imports,
  importGroups,
  importReservations,
  importResolve,
  importMirror,
  importMirrorJobs,
  importSeveral,
  importSync,
  machines,
  mfa,
  logs,
  npm,
  oidc,
  openapi,
  packages,
  readers,
  sbom,
  securityAdvisory,
  securityAssign,
  securityDecide,
  securityDecisions,
  securityEngines,
  securityEvidence,
  securityExports,
  securityListing,
  securityPolicy,
  pypi,
  registries,
  securityQueue,
  proxies,
  retention,
  settings,
  setup,
  tasks,
  upload,
  uploadMine,
  webhooks,
]

export const declarations: readonly Declaration[] = modules
  .flatMap((module) =>
    Object.values(module).flatMap((one: object): unknown[] => (isDeclaration(one) ? [one] : Object.values(one))),
  )
  .filter(isDeclaration)

function isDeclaration(value: unknown): value is Declaration {
  return typeof value === 'object' && value !== null && 'method' in value && 'summary' in value && 'answer' in value
}
