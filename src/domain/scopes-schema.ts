// The schema of scopes, for the API and for settings. An unknown key is refused: a misspelt restriction must not be ignored.
import Type from 'typebox'
import { SCOPE_ACTIONS } from './scopes.ts'

const restriction = (pattern: string, maxItems: number, description: string) =>
  Type.Optional(Type.Array(Type.String({ pattern, maxLength: 200 }), { minItems: 1, maxItems, description }))

export const ScopesSchema = Type.Object(
  {
    actions: Type.Optional(Type.Array(Type.Enum([...SCOPE_ACTIONS]), { minItems: 1, maxItems: SCOPE_ACTIONS.length })),
    formats: restriction('^[a-z0-9]+$', 20, 'of the distributions that are changed'),
    distributions: restriction(
      '^[A-Za-z0-9][A-Za-z0-9._-]*(/[a-z0-9][a-z0-9._-]*)?$',
      100,
      'or repositories (`npm/team`) that are changed',
    ),
    names: restriction(
      '^(@[^\\s\\u0000-\\u001f\\u007f/]+/)?[^\\s\\u0000-\\u001f\\u007f/]+$',
      100,
      'of packages that are changed; `*` is any text, `?` one character',
    ),
  },
  {
    title: 'Scopes',
    additionalProperties: false,
    minProperties: 1,
    description: 'Restrictions beside the role; a list that is left out restricts nothing.',
  },
)
