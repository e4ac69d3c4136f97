// Declarations of /security/decisions: list, change and assign decisions; the check of deadlines; the report.
import Type from 'typebox'
import { DecisionActionSchema, PackageStatusSchema } from '../shared/words.ts'
import { Nullable, pageQuery, TimeSchema } from '../http/schemas.ts'
import { CountsSchema, DecisionAnswer, DecisionSchema, SlaSchema } from '../shared/decision-schemas.ts'
import { DecisionBodySchema, DecisionId, SecurityItem } from './schemas.ts'
import { SECTIONS } from '../settings/settings.contract.ts'
import { RadiusSchema } from '../shared/download-schemas.ts'
import { declare } from '../http/route.ts'

/** What people change of a decision: whether it is in force, and whose it is. */
const EDITED = ['active', 'resolved_at', 'expires_at', 'assigned_to']

export const Listed = Type.Object(
  {
    decisions: Type.Array(DecisionSchema),
    count: Type.Integer(),
    total: Type.Integer(),
    page: Type.Integer(),
    per_page: Type.Integer(),
    pages: Type.Integer(),
  },
  { title: 'DecisionPage' },
)

export const SlaItem = Type.Object(
  {
    kind: Type.String(),
    package: Type.String(),
    version: Type.String(),
    distribution: Type.String(),
    arch: Type.String(),
    decision_id: Nullable(Type.Integer()),
    sla: SlaSchema,
  },
  { title: 'SlaItem' },
)

export const DecisionFilterSchema = {
  package: Type.Optional(Type.String()),
  version: Type.Optional(Type.String()),
  distribution: Type.Optional(Type.String()),
  action: Type.Optional(DecisionActionSchema),
  active: Type.Optional(Type.Boolean()),
  assigned_to: Type.Optional(Type.String()),
}

export const getSecurityDecisions = declare({
  method: 'GET',
  path: '/security/decisions',
  tag: 'security',
  summary: 'Decisions, newest first',
  access: 'auditor+',
  query: Type.Object({ ...pageQuery(), ...DecisionFilterSchema }),
  answer: Listed,
  problems: ['validation_error'],
})

export const getSecurityDecisionsMine = declare({
  method: 'GET',
  path: '/security/decisions/mine',
  tag: 'security',
  summary: 'Decisions assigned to the caller',
  access: 'auditor+',
  query: Type.Object(pageQuery()),
  answer: Listed,
  problems: ['validation_error'],
})

export const getSecurityDecisionsUnassigned = declare({
  method: 'GET',
  path: '/security/decisions/unassigned',
  tag: 'security',
  summary: 'Active decisions that are not assigned',
  access: 'auditor+',
  query: Type.Object(pageQuery()),
  answer: Listed,
  problems: ['validation_error'],
})

export const getSecurityDecisionsId = declare({
  method: 'GET',
  path: '/security/decisions/{id}',
  tag: 'security',
  summary: 'A decision, in force or not',
  access: 'auditor+',
  edited: EDITED,
  params: DecisionId,
  answer: DecisionSchema,
  problems: ['not_found'],
})

export const putSecurityDecisionsId = declare({
  method: 'PUT',
  path: '/security/decisions/{id}',
  tag: 'security',
  summary: 'Replace an active decision with a new one',
  example: { decision: 'approve', justification: 'not reachable: the module is not loaded', expires_in_days: 14 },
  access: 'maintainer+',
  edited: EDITED,
  action: 'review',
  params: DecisionId,
  body: DecisionBodySchema,
  answer: DecisionAnswer,
  problems: ['not_found', 'not_under_review', 'self_approval'],
})

export const deleteSecurityDecisionsId = declare({
  method: 'DELETE',
  path: '/security/decisions/{id}',
  tag: 'security',
  summary: 'Revoke a decision: packages it approved return to review and stay served',
  example: { note: 'the module is loaded after all' },
  access: 'maintainer+',
  edited: EDITED,
  action: 'review',
  flags: { optionalBody: true },
  params: DecisionId,
  body: Type.Object({
    note: Type.Optional(Nullable(Type.String({ description: 'longer ones are cut to 2000 characters' }))),
  }),
  answer: DecisionAnswer,
  problems: ['validation_error', 'not_found', 'not_under_review'],
})

export const postSecurityDecisionsUndo = declare({
  method: 'POST',
  path: '/security/decisions/undo',
  tag: 'security',
  summary: "Undo decisions of one's own within ten minutes: status, findings and index are as before",
  example: { ids: [7] },
  access: 'maintainer+',
  action: 'review',
  body: Type.Object(
    { ids: Type.Array(DecisionId.properties.id, { minItems: 1, maxItems: 1000 }) },
    { title: 'UndoBody' },
  ),
  answer: Type.Object(
    {
      status: Type.Enum(['ok', 'partial', 'failed']),
      undone: Type.Integer(),
      failed: Type.Integer(),
      items: Type.Array(
        Type.Object({
          decision_id: Type.Integer(),
          result: Type.Enum(['undone', 'failed']),
          package: Nullable(Type.String()),
          version: Nullable(Type.String()),
          distribution: Nullable(Type.String()),
          arch: Nullable(Type.String()),
          status: Nullable(PackageStatusSchema),
          served: Nullable(Type.Boolean({ description: 'whether clients get it now' })),
          downloads: Nullable(RadiusSchema),
          code: Nullable(Type.String({ description: 'why it failed' })),
          detail: Nullable(Type.String()),
        }),
        {
          description:
            'in the order of the request; `downloads`: who fetched it since the day of the decision, as far as logs are counted',
        },
      ),
    },
    { title: 'UndoneDecisions' },
  ),
  problems: ['publication_failed', 'storage_unavailable', 'storage_full'],
})

export const patchSecurityDecisionsIdAssign = declare({
  method: 'PATCH',
  path: '/security/decisions/{id}/assign',
  tag: 'security',
  summary: 'Assign a decision to a user; null to unassign it',
  example: { assigned_to: 'ada' },
  access: 'maintainer+',
  edited: EDITED,
  action: 'review',
  params: DecisionId,
  body: Type.Object({ assigned_to: Nullable(Type.String({ minLength: 1, maxLength: 64 })) }),
  answer: DecisionAnswer,
  problems: ['not_found'],
})

export const postSecurityCheckSla = declare({
  method: 'POST',
  path: '/security/check-sla',
  tag: 'security',
  summary: 'End expired exceptions and record overdue reviews immediately',
  access: 'admin',
  answer: Type.Object(
    {
      expired: Type.Integer(),
      expiring_soon: Type.Integer(),
      notified: Type.Integer(),
      expired_list: Type.Array(SlaItem),
      expiring_list: Type.Array(SlaItem),
    },
    { title: 'SlaCheck' },
  ),
  problems: [],
})

export const getSecurityReport = declare({
  method: 'GET',
  path: '/security/report',
  tag: 'security',
  summary: 'A report of the review: the worst packages, held packages, the newest decisions',
  access: 'auditor+',
  query: Type.Object({
    limit: Type.Integer({ minimum: 1, maximum: 1000, default: 200, description: 'most entries of each list' }),
  }),
  answer: Type.Object(
    {
      generated_at: TimeSchema,
      generated_by: Type.String(),
      cve_policy: SECTIONS.cve_policy,
      summary: CountsSchema,
      packages_with_cve: Type.Array(SecurityItem),
      decisions: Type.Array(DecisionSchema),
      pending_review: Type.Array(SecurityItem),
      totals: Type.Object({
        packages_with_cve: Type.Integer(),
        decisions: Type.Integer(),
        pending_review: Type.Integer(),
      }),
    },
    { title: 'SecurityReport' },
  ),
  problems: ['validation_error'],
})
