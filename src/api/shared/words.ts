// Words that many answers use, each a named schema.
import Type from 'typebox'
import { ACTIONS, FIX_STATES, SEVERITIES } from '../../domain/finding.ts'
import { DECISION_ACTIONS, HELD_REASONS, PACKAGE_STATUSES } from '../../domain/status.ts'
import { ECOSYSTEMS } from '../../formats/index.ts'

export const FormatSchema = Type.Enum([...ECOSYSTEMS], { title: 'Format' })
export const PackageStatusSchema = Type.Enum([...PACKAGE_STATUSES], { title: 'PackageStatus' })
/** null where the scan was not reached */
export const CveStatusSchema = Type.Enum(['approved', 'pending_review', 'blocked'], { title: 'CveStatus' })
export const HeldReasonSchema = Type.Enum([...HELD_REASONS], { title: 'HeldReason' })
export const SeveritySchema = Type.Enum([...SEVERITIES], { title: 'Severity' })
export const FixStateSchema = Type.Enum([...FIX_STATES], { title: 'FixState' })
export const PolicyActionSchema = Type.Enum([...ACTIONS], { title: 'PolicyAction' })
export const DecisionActionSchema = Type.Enum([...DECISION_ACTIONS], { title: 'DecisionAction' })

/** A package without the distribution it is in. */
export const IdentitySchema = Type.Object(
  { name: Type.String(), version: Type.String(), arch: Type.String() },
  { title: 'PackageIdentity' },
)
