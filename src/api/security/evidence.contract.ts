// Declaration of the evidence of a review: all that a person needs to decide about one version, in one answer.
import Type from 'typebox'
import { SEVERITY_KEYS } from '../../domain/finding.ts'
import { DependantSchema } from '../artifacts/details.contract.ts'
import {
  CoverageSchema,
  FindingSchema,
  FIXED_HERE,
  ReviewReasonSchema,
  ValidationStepSchema,
} from '../shared/evidence-schemas.ts'
import { HeldReasonSchema, PackageStatusSchema, SeveritySchema } from '../shared/words.ts'
import { Nullable, TimeSchema } from '../http/schemas.ts'
import { DecisionSchema, SlaSchema } from '../shared/decision-schemas.ts'
import { NameVersion, Narrowed } from './schemas.ts'
import { declare } from '../http/route.ts'

const Weighed = Type.Intersect(
  [
    FindingSchema,
    Type.Object({
      holding: Type.Boolean({ description: 'it waits for a decision' }),
      in_previous: Type.Boolean({ description: 'the previous version has it too' }),
      ...FIXED_HERE,
    }),
  ],
  { title: 'WeighedFinding' },
)

const SeenSchema = Type.Object(
  {
    kind: Type.String({ description: 'a step of the gate, or `second_scanner`, `dependency_scan`' }),
    engine: Nullable(Type.String()),
    data_version: Nullable(Type.String({ description: "of the engine's data" })),
    generation: Nullable(Type.Integer({ description: 'of the advisories' })),
    result: Type.String({ description: '`scanned`: the findings say the rest' }),
    message: Type.String(),
    findings: Type.Record(Type.Enum([...SEVERITY_KEYS]), Type.Integer(), { description: 'how many, by severity' }),
    at: TimeSchema,
    last_at: TimeSchema,
    replaced_at: Nullable(TimeSchema),
  },
  { title: 'SeenCheck' },
)

const Gone = Type.Object({ id: Type.String(), severity: SeveritySchema })

export const postSecurityPackagesNameVersionOnlookers = declare({
  method: 'POST',
  path: '/security/packages/{name}/{version}/onlookers',
  tag: 'security',
  summary: 'Say that one looks at a version, and learn who else does; counts for 45 seconds',
  access: 'auditor+',
  action: 'read',
  limit: 'reads',
  flags: { sessionOnly: true },
  params: NameVersion,
  query: Narrowed,
  answer: Type.Object(
    { others: Type.Array(Type.String(), { description: 'user names, the first 20' }) },
    { title: 'Onlookers' },
  ),
  problems: ['not_found'],
})

export const getSecurityPackagesNameVersionEvidence = declare({
  method: 'GET',
  path: '/security/packages/{name}/{version}/evidence',
  tag: 'security',
  summary: 'Why a version is held, its findings and coverage, what changed, earlier decisions and who needs it',
  access: 'auditor+',
  params: NameVersion,
  query: Narrowed,
  answer: Type.Object(
    {
      package: Type.String(),
      version: Type.String(),
      arch: Type.String(),
      distribution: Type.String(),
      format: Type.String(),
      status: PackageStatusSchema,
      served: Type.Boolean(),
      description: Nullable(Type.String()),
      sha256: Type.String(),
      size_bytes: Type.Integer(),
      imported_at: TimeSchema,
      imported_by: Type.String(),
      import_method: Type.String(),
      held: Nullable(
        Type.Object({
          reason: Nullable(HeldReasonSchema),
          origin: Nullable(Type.String()),
          since: Nullable(TimeSchema),
          reasons: Type.Array(ReviewReasonSchema),
          assigned_to: Nullable(Type.String({ description: 'who has to look at it' })),
        }),
      ),
      sla: SlaSchema,
      validation_steps: Type.Array(ValidationStepSchema),
      coverage: Type.Record(Type.String(), Nullable(CoverageSchema)),
      checks: Type.Array(SeenSchema, {
        description:
          'what each check saw, apart from what the policy says of it: the last of each kind, then earlier ones; 50 at most',
      }),
      last_scan: Nullable(TimeSchema),
      findings: Type.Array(Weighed, {
        description: 'the first 200: those that hold it, then known exploited ones, by EPSS, by CVSS',
      }),
      findings_total: Type.Integer(),
      holding_total: Type.Integer(),
      previous: Nullable(
        Type.Object({
          version: Type.String(),
          imported_at: TimeSchema,
          added_total: Type.Integer(),
          same_total: Type.Integer(),
          gone: Type.Array(Gone, { description: 'the first 200, the worst first' }),
          gone_total: Type.Integer(),
        }),
      ),
      decisions: Type.Array(
        Type.Intersect([
          DecisionSchema,
          Type.Object({ covers_here: Type.Array(Type.String(), { description: 'findings of this version' }) }),
        ]),
        { description: 'the last 20 about this version, or about findings that it has, of any package' },
      ),
      dependants: Type.Array(DependantSchema, { description: 'the first 20, those that have nothing else first' }),
      dependants_total: Type.Integer(),
      dependants_capped: Type.Boolean({ description: 'there may be more than `dependants_total`' }),
      only_total: Type.Integer({ description: 'dependants that have nothing else' }),
      others: Type.Array(
        Type.Object({
          distribution: Type.String(),
          arch: Type.String(),
          status: PackageStatusSchema,
          served: Type.Boolean(),
          same_bytes: Type.Boolean(),
        }),
        { description: 'the first 20 of the same name and version elsewhere' },
      ),
    },
    { title: 'Evidence' },
  ),
  problems: ['not_found'],
})
