// The ecosystems that repositories can be for, as people call them.
import type { Call } from '../../../../client/src/index.ts'
import type { Answered } from '../../api/api.ts'

export const REGISTRIES = { npm: 'npm', pypi: 'PyPI' } as const

export type Registry = keyof typeof REGISTRIES
export type Repository = Answered<'GET /registries'>['repositories'][number]
export type Details = Answered<'GET /registries/{format}/{name}'>
export type Change = NonNullable<Call<'PATCH /registries/{format}/{name}'>['body']>

/** Names a repository to the API. */
export interface Which {
  format: Registry
  name: string
}
