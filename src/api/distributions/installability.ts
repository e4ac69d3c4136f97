// /distributions/{codename}/installability: which packages cannot be installed, and what a change would break.
import { unknownDistribution } from '../../formats/unknown-distribution.ts'
import { INSTALLABILITY, type Installability } from '../../packages/installability/installability.ts'
import type { FormatRegistry } from '../../packages/identify.ts'
import { isoTime } from '../../kernel/clock.ts'
import type { AuditLog } from '../../audit/log.ts'
import type { Db } from '../../store/db.ts'
import { revisionOf } from '../../store/records/served-query.ts'
import type { Tasks } from '../../tasks/tasks.ts'
import {
  getDistributionsCodenameInstallability,
  postDistributionsCodenameInstallability,
  postDistributionsCodenameInstallabilityPlan,
} from './installability.contract.ts'
import { handle, type Route } from '../http/route.ts'

/** Packages in one answer, over all architectures. */
const MOST_LISTED = 200

export interface InstallabilityRouteDeps {
  db: Db
  audit: Pick<AuditLog, 'record'>
  registry: Pick<FormatRegistry, 'find' | 'distributions'>
  installability: Pick<Installability, 'last' | 'plan'>
  tasks: Pick<Tasks, 'enqueue'>
}

export function installabilityRoutes({ db, audit, registry, installability, tasks }: InstallabilityRouteDeps): Route[] {
  function requireKnown(codename: string): void {
    if (!registry.find(codename)) throw unknownDistribution(codename, registry.distributions, 'not_found')
  }

  return [
    handle(getDistributionsCodenameInstallability, async ({ params: { codename } }) => {
      requireKnown(codename)
      const last = await installability.last(codename)
      const { architectures = [], sources = [] } = last?.result ?? {}
      const sum = (of: (one: (typeof architectures)[number]) => number) =>
        architectures.reduce((total, one) => total + of(one), 0)
      return {
        codename,
        checked_at: last ? isoTime(last.checkedAt) : null,
        revision: last?.revision ?? null,
        current: last !== null && last.revision === (await revisionOf(db, codename)),
        total: sum((one) => one.total),
        uninstallable: architectures
          .flatMap(({ architecture, uninstallable }) => uninstallable.map((one) => ({ ...one, architecture })))
          .slice(0, MOST_LISTED),
        uninstallable_total: sum((one) => one.uninstallable_total),
        undecided: architectures
          .flatMap(({ architecture, undecided }) => undecided.map((one) => ({ ...one, architecture })))
          .slice(0, MOST_LISTED),
        undecided_total: sum((one) => one.undecided_total),
        upstream:
          sources.length === 0
            ? null
            : {
                sources,
                packages: sum((one) => one.upstream),
                uninstallable_total: sum((one) => one.uninstallable_with_upstream_total),
              },
      }
    }),
    handle(postDistributionsCodenameInstallability, async ({ params: { codename }, caller, origin }) => {
      requireKnown(codename)
      const request = { kind: INSTALLABILITY, key: codename, createdBy: caller.name, requestId: origin.requestId }
      const { id } = await tasks.enqueue(request)
      await audit.record({
        action: 'INSTALLABILITY_CHECK',
        result: 'SUCCESS',
        user: caller.name,
        distribution: codename,
        detail: `task ${id}`,
        ip: origin.ip,
        requestId: origin.requestId,
      })
      return { status: 'queued', codename, task_id: id }
    }),
    handle(postDistributionsCodenameInstallabilityPlan, async ({ params: { codename }, body }) => {
      requireKnown(codename)
      const planned = await installability.plan(codename, {
        add: body.add ?? [],
        remove: body.remove ?? [],
        promoteFrom: body.promote_from ?? null,
        sourceId: body.source_id ?? null,
        withUpstream: body.with_upstream ?? true,
      })
      return { codename, ...planned }
    }),
  ]
}
