// /distributions: the distributions, and publishing their indexes again.
import { Problem } from '../../domain/problem.ts'
import { isoTimeOrNull } from '../../kernel/clock.ts'
import type { Distribution } from '../../domain/package.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Offered } from '../../formats/format.ts'
import type { FormatRegistry } from '../../packages/identify.ts'
import { migrationRequest, type MigrationResult } from '../../packages/copies/migrate.ts'
import type { Previews } from '../../intake/previews.ts'
import type { Promote } from '../../packages/copies/promote.ts'
import type { PromoteSeveral } from '../../packages/copies/promote-several.ts'
import type { Readers } from '../../accounts/readers/readers.ts'
import type { Tasks } from '../../tasks/tasks.ts'
import { INIT, type Initialized } from '../../publish/initialize-task.ts'
import { unknownDistribution } from '../../formats/unknown-distribution.ts'
import { distributionRows, servedPackages } from '../../store/records/served-query.ts'
import { sendList } from '../http/list-stream.ts'
import type { AuditLog } from '../../audit/log.ts'
import type { Db } from '../../store/db.ts'
import { type Route } from '../http/route.ts'
import {
  getDistributions,
  getDistributionsCodename,
  getDistributionsCodenamePackages,
  patchDistributionsCodename,
  postDistributionsInit,
  postDistributionsMigrate,
} from './distributions.contract.ts'
import { promotionRoute } from './promotion.ts'
import { handle } from '../http/route.ts'

export interface DistributionDeps {
  db: Db
  clock: Clock
  audit: AuditLog
  /** all distributions, active or not */
  all: readonly Offered[]
  isActive(codename: string): boolean
  repoFormat: string
  fingerprint(): string
  hasSigningKey(): Promise<boolean>
  registry: FormatRegistry
  promote: Promote
  promoteSeveral: PromoteSeveral
  previews: Pick<Previews, 'promotion' | 'promotions' | 'migration'>
  tasks: Pick<Tasks, 'run'>
  readers: Pick<Readers, 'setPrivate'>
}

export function distributionRoutes(deps: DistributionDeps): Route[] {
  const { db } = deps

  function viewOf(distribution: Distribution, rows: Awaited<ReturnType<typeof distributionRows>>) {
    const row = rows.find(({ codename }) => codename === distribution.codename)
    return {
      codename: distribution.codename,
      name: distribution.name,
      full_name: distribution.fullName,
      os: distribution.os,
      version: distribution.osVersion,
      format: distribution.format,
      arch: distribution.architectures[0] ?? '',
      architectures: [...distribution.architectures],
      component: distribution.component,
      scanner_distro: distribution.scannerDistro,
      package_manager: distribution.packageManager,
      package_count: row?.published_count ?? 0,
      active: deps.isActive(distribution.codename),
      private: row?.private ?? false,
      signed_by: row?.generation ? deps.fingerprint() : null,
      last_published_at: isoTimeOrNull(row?.published_at),
    }
  }

  /** @throws Problem('not_found') */
  function declared(codename: string): Distribution {
    const all = deps.all.map(({ distribution }) => distribution)
    const found = all.find((distribution) => distribution.codename === codename)
    if (!found) throw unknownDistribution(codename, all, 'not_found')
    return found
  }

  return [
    handle(getDistributions, async () => {
      const rows = await distributionRows(db)
      const distributions = deps.all.map(({ distribution }) => viewOf(distribution, rows))
      return { distributions, total: distributions.length }
    }),
    handle(getDistributionsCodename, async ({ params: { codename } }) =>
      viewOf(declared(codename), await distributionRows(db)),
    ),
    handle(patchDistributionsCodename, async ({ params: { codename }, body, caller, origin, unchanged }) => {
      const distribution = declared(codename)
      await deps.readers.setPrivate(codename, body.private, caller, origin, unchanged)
      return viewOf(distribution, await distributionRows(db))
    }),
    handle(getDistributionsCodenamePackages, async ({ params: { codename }, reply }) => {
      declared(codename)
      return sendList(reply, { codename }, 'packages', servedPackages(db, codename))
    }),
    handle(postDistributionsInit, async ({ caller, origin }) => {
      if (!(await deps.hasSigningKey())) throw new Problem('signing_key_missing', 'there is no signing key in gnupg/')
      const request = { kind: INIT, createdBy: caller.name, requestId: origin.requestId }
      const { results } = (await deps.tasks.run(request)) as unknown as Initialized
      const ok = results.every((result) => result.ok)
      await deps.audit.record({
        action: 'INIT_DISTS',
        result: ok ? 'SUCCESS' : 'WARNING',
        user: caller.name,
        detail: `${results.filter((result) => result.ok).length} of ${results.length} distributions`,
        ip: origin.ip,
        requestId: origin.requestId,
      })
      return { status: ok ? 'ok' : 'partial', repo_format: deps.repoFormat, results }
    }),
    promotionRoute(deps),
    handle(postDistributionsMigrate, async ({ body: { dry_run, ...body }, caller, origin }) => {
      const places = { from: body.from_dist, to: body.to_dist }
      if (dry_run) {
        const preview = await deps.previews.migration(body.from_dist, body.to_dist)
        return { status: 'dry_run', ...places, ...preview, manifests_updated: 0, task_id: null }
      }
      const { task_id, ...ended } = await deps.tasks.run(migrationRequest(deps.registry, body, caller, origin))
      const { migrated, skipped, failed, packages, errors, manifests_updated } = ended as unknown as MigrationResult
      return {
        status: failed === 0 ? 'ok' : 'partial',
        ...places,
        ...{ migrated, skipped, failed, packages, errors, manifests_updated, task_id },
      }
    }),
  ]
}
