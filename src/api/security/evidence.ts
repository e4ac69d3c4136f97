// The evidence of a review: all that a person needs to decide about one version, in one answer.
import { countSeverities } from '../../domain/finding.ts'
import { Problem } from '../../domain/problem.ts'
import { openFindings } from '../../domain/review-due.ts'
import type { Placed } from '../../formats/intake-format.ts'
import { dependantsOf } from '../../gate/dependants.ts'
import { withFixesAvailable } from '../../imports/fix-available.ts'
import { isoTime, isoTimeOrNull, type Clock } from '../../kernel/clock.ts'
import { decisionOf } from '../../review/decisions.ts'
import type { Review } from '../../review/review.ts'
import { slaOf } from '../../review/sla.ts'
import { difference, inOrderOfUrgency, previousOf } from '../../review/weigh.ts'
import { storedFacts } from '../../store/files/blob-query.ts'
import { headRows, recordsOf } from '../../store/records/artifact-query.ts'
import { evidenceOf, findingIds, othersOf, pastDecisions } from '../../packages/records/evidence-query.ts'
import { findingsOf } from '../../packages/records/findings.ts'
import { assignmentsOf, type Assignment } from '../../packages/records/review-query.ts'
import { fixesHere } from '../../packages/records/fixed-here.ts'
import type { Db } from '../../store/db.ts'
import type { PackageRow } from '../../store/tables.ts'
import { shortened } from '../http/list-stream.ts'
import { handle, type Route } from '../http/route.ts'
import {
  getSecurityPackagesNameVersionEvidence,
  postSecurityPackagesNameVersionOnlookers,
} from './evidence.contract.ts'
import { selectorOf } from './schemas.ts'
import { findRepresentative, reviewStateOf } from './views.ts'

const MOST_FINDINGS = 200
const MOST_DECISIONS = 20
const MOST_DEPENDANTS = 20

export interface EvidenceDeps {
  db: Db
  clock: Clock
  review: Pick<Review, 'lookAt'>
  offered(codename: string): Placed
}

type Head = Awaited<ReturnType<typeof headRows>>[number]

export function securityEvidenceRoutes(deps: EvidenceDeps): Route[] {
  const { db, clock } = deps

  /** The findings with the places of their fixes; those that wait for a decision first. */
  async function weighed(row: PackageRow, siblings: readonly Head[], before: readonly { id: string }[]) {
    const { format } = deps.offered(row.distribution)
    const findings = inOrderOfUrgency(findingsOf(row))
    const holding = new Set(openFindings(findings).map(({ id }) => id))
    const had = new Set(before.map(({ id }) => id))
    const fixIn = fixesHere(row, siblings, format)
    const shown = await withFixesAvailable(db, row, findings.slice(0, MOST_FINDINGS), format.versions)
    return {
      findings: shown.map((finding) => ({
        ...finding,
        holding: holding.has(finding.id),
        in_previous: had.has(finding.id),
        ...fixIn(finding),
      })),
      findings_total: findings.length,
      holding_total: holding.size,
    }
  }

  async function concerned(row: PackageRow) {
    const facts = await storedFacts(db, row.sha256)
    const found = await dependantsOf(db, deps.offered(row.distribution), { ...facts, id: row.id })
    const only = found.packages.filter((one) => one.only)
    const first = [...only, ...found.packages.filter((one) => !one.only)].slice(0, MOST_DEPENDANTS)
    return {
      dependants: first.map(({ id: _id, ...one }) => one),
      dependants_total: found.packages.length,
      dependants_capped: found.truncated,
      only_total: only.length,
    }
  }

  return [
    handle(postSecurityPackagesNameVersionOnlookers, async ({ params, query, caller }) => {
      const row = await findRepresentative(db, selectorOf({ params, query }, undefined))
      if (!row) throw new Problem('not_found', `there is no package ${params.name} ${params.version}`)
      return { others: await deps.review.lookAt(row.id, caller.name) }
    }),
    handle(getSecurityPackagesNameVersionEvidence, async ({ params, query }) => {
      const shown = await findRepresentative(db, selectorOf({ params, query }, undefined))
      const [row] = shown ? await recordsOf(db, [shown.id]) : []
      if (!row) throw new Problem('not_found', `there is no package ${params.name} ${params.version}`)
      const now = clock.now()
      const { compare } = deps.offered(row.distribution).format.versions
      const siblings = await headRows(db, { name: row.name, distribution: row.distribution, arch: row.arch })
      const published = siblings.filter(({ id, status }) => id !== row.id && status === 'published')
      const previous = previousOf(row.version, published, compare)
      const before = previous ? await findingIds(db, previous.id) : []
      const { added, same, gone } = difference(before, findingsOf(row))
      const ids = inOrderOfUrgency(findingsOf(row)).map(({ id }) => id)
      const here = new Set(ids)
      const decisions = await pastDecisions(db, { id: row.id, cves: ids, limit: MOST_DECISIONS })
      const elsewhere = await othersOf(db, row)
      const { sla } = (await reviewStateOf(db, [row], now))(row)
      return {
        package: row.name,
        version: row.version,
        arch: row.arch,
        distribution: row.distribution,
        format: row.format,
        status: row.status,
        served: row.served,
        description: shortened(row.description),
        sha256: row.sha256,
        size_bytes: row.size_bytes,
        imported_at: isoTime(row.imported_at),
        imported_by: row.imported_by,
        import_method: row.import_method,
        held: heldOf(row, (await assignmentsOf(db, [row.id])).get(row.id)),
        sla: sla ?? slaOf(null, now),
        validation_steps: row.validation_steps,
        coverage: row.coverage,
        checks: (await evidenceOf(db, row.id)).map(seenOf),
        last_scan: isoTimeOrNull(row.last_scan),
        ...(await weighed(row, siblings, before)),
        previous: previous && {
          version: previous.version,
          imported_at: isoTime(previous.imported_at),
          added_total: added,
          same_total: same,
          gone: gone.slice(0, MOST_FINDINGS),
          gone_total: gone.length,
        },
        decisions: decisions.map((decision) => ({
          ...decisionOf(decision, now),
          covers_here: decision.covers.map(({ id }) => id).filter((id) => here.has(id)),
        })),
        ...(await concerned(row)),
        others: elsewhere,
      }
    }),
  ]
}

function seenOf({ at, last_at, replaced_at, body, ...row }: Awaited<ReturnType<typeof evidenceOf>>[number]) {
  return {
    ...row,
    ...{ result: body.result, message: body.message, findings: body.severities ?? countSeverities([]) },
    ...{ at: isoTime(at), last_at: isoTime(last_at), replaced_at: isoTimeOrNull(replaced_at) },
  }
}

function heldOf(row: PackageRow, assignment: Assignment | undefined) {
  if (row.status !== 'pending_review') return null
  return {
    reason: row.held_reason,
    origin: row.review_origin,
    since: isoTimeOrNull(row.review_since),
    reasons: row.review_reasons ?? [],
    assigned_to: assignment?.assigned_to ?? null,
  }
}
