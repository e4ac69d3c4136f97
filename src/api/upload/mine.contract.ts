// Declaration of what the caller brought in.
import Type from 'typebox'
import { Nullable, pageOf, pageQuery, TimeSchema } from '../http/schemas.ts'
import { HeadSchema, SummarySchema } from '../shared/records.ts'
import { DecisionActionSchema, FormatSchema, HeldReasonSchema, PackageStatusSchema } from '../shared/words.ts'
import { declare } from '../http/route.ts'

const Mine = Type.Intersect(
  [
    HeadSchema,
    Type.Object({
      format: FormatSchema,
      filename: Type.String(),
      sha256: Type.String(),
      size_bytes: Type.Integer(),
      import_method: Type.String(),
      held_reason: Nullable(HeldReasonSchema),
      cve_summary: SummarySchema,
      problems: Type.Array(Type.Object({ step: Type.String(), message: Type.String() }), {
        description: 'the checks that it did not pass',
      }),
      decision: Nullable(
        Type.Object({
          action: DecisionActionSchema,
          justification: Type.String(),
          decided_by: Type.String(),
          decided_at: TimeSchema,
          target_version: Nullable(Type.String()),
        }),
      ),
    }),
  ],
  { title: 'OwnUpload' },
)

export const getUploadMine = declare({
  method: 'GET',
  path: '/upload/mine',
  tag: 'upload',
  summary: 'What you and your API tokens brought in, the newest first, with the reason where clients do not get it',
  access: 'uploader+',
  query: Type.Object({
    ...pageQuery(),
    status: Type.Optional(PackageStatusSchema),
    distribution: Type.Optional(Type.String()),
  }),
  answer: pageOf(Mine),
  problems: ['validation_error'],
})
