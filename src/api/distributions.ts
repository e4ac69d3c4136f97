// /distributions: what packages can be offered under, and making their indexes anew.
import Type from 'typebox'
import { Problem } from '../domain/problem.ts'
import { isoTimeOrNull } from '../kernel/clock.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Offered } from '../formats/format.ts'
import type { Publisher } from '../publish/publisher.ts'
import { unknownDistribution } from '../formats/unknown-distribution.ts'
import { distributionRows, servedPackages } from '../store/records/served-query.ts'
import { sendList } from './list-stream.ts'
import type { AuditLog } from '../store/audit-log.ts'
import type { Db } from '../store/db.ts'
import { route, type Route } from './route.ts'
import { listOf } from './schemas.ts'

export interface DistributionParts {
  db: Db
  clock: Clock
  audit: AuditLog
  publisher: Publisher
  /** every distribution the build knows */
  all: readonly Offered[]
  isActive(codename: string): boolean
  repoFormat: string
  fingerprint: string
  hasSigningKey(): Promise<boolean>
}

export function distributionRoutes(parts: DistributionParts): Route[] {
  const { db } = parts
  return [
    route({
      method: 'GET',
      path: '/distributions',
      tag: 'distributions',
      summary: 'Every distribution, active or not, with its package count',
      access: 'reader+',
      answer: listOf(
        'distributions',
        Type.Object({
          codename: Type.String(),
          format: Type.String(),
          arch: Type.String(),
          active: Type.Boolean(),
          package_count: Type.Integer(),
        }),
      ),
      problems: [],
      async handle() {
        const rows = new Map((await distributionRows(db)).map((row) => [row.codename, row]))
        const distributions = parts.all.map(({ distribution: d }) => {
          const row = rows.get(d.codename)
          return {
            codename: d.codename,
            name: d.name,
            full_name: d.fullName,
            os: d.os,
            version: d.osVersion,
            format: d.format,
            arch: d.arch,
            component: d.component,
            scanner_distro: d.scannerDistro,
            package_manager: d.packageManager,
            package_count: row?.published_count ?? 0,
            active: parts.isActive(d.codename),
            signed_by: row?.generation ? parts.fingerprint : null,
            last_published_at: isoTimeOrNull(row?.published_at),
          }
        })
        return { distributions, total: distributions.length }
      },
    }),
    route({
      method: 'GET',
      path: '/distributions/{codename}/packages',
      tag: 'distributions',
      summary: 'What a distribution offers',
      access: 'reader+',
      params: Type.Object({ codename: Type.String() }),
      answer: Type.Object({
        codename: Type.String(),
        packages: Type.Array(Type.Object({ name: Type.String(), version: Type.String(), arch: Type.String() })),
        total: Type.Integer(),
      }),
      problems: ['not_found'],
      async handle({ params: { codename }, reply }) {
        if (!parts.all.some(({ distribution }) => distribution.codename === codename))
          throw unknownDistribution(codename, 'not_found')
        return sendList(reply, { codename }, 'packages', servedPackages(db, codename))
      },
    }),
    route({
      method: 'POST',
      path: '/distributions/init',
      tag: 'distributions',
      summary: 'Initialize or re-initialize every active distribution',
      access: 'admin',
      limit: 'distributions',
      flags: { leaderOnly: true },
      answer: Type.Object({
        status: Type.Enum(['ok', 'partial']),
        repo_format: Type.String(),
        results: Type.Array(
          Type.Object({ codename: Type.String(), format: Type.String(), ok: Type.Boolean(), message: Type.String() }),
        ),
      }),
      problems: ['signing_key_missing', 'passive_replica'],
      async handle({ caller, origin }) {
        if (!(await parts.hasSigningKey()))
          throw new Problem('signing_key_missing', 'there is no signing key in gnupg/')
        const active = parts.all.filter(({ distribution }) => parts.isActive(distribution.codename))
        const results = await parts.publisher.initialize(active)
        const ok = results.every((result) => result.ok)
        await parts.audit.record({
          action: 'INIT_DISTS',
          result: ok ? 'SUCCESS' : 'WARNING',
          user: caller.name,
          detail: `${results.filter((result) => result.ok).length} of ${results.length} distributions`,
          ip: origin.ip,
          requestId: origin.requestId,
        })
        return { status: ok ? 'ok' : 'partial', repo_format: parts.repoFormat, results }
      },
    }),
  ]
}
