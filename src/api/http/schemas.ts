// Schemas that several routes share.
import Type, { type TObject, type TSchema } from 'typebox'
import { ROLES } from '../../domain/roles.ts'

export const RoleSchema = Type.Enum([...ROLES], { title: 'Role' })

/** ISO 8601, UTC, offset +00:00 */
export const TimeSchema = Type.String({ format: 'date-time' })

export const Nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()])

export const StatusAnswer = Type.Object({ status: Type.String() })

/** A list without pages: a plural key and `total`. */
export function listOf(key: string, item: TSchema): TObject {
  return Type.Object({ [key]: Type.Array(item), total: Type.Integer() })
}

/** The paged envelope (decisions, section 1). */
export function pageOf(item: TSchema): TObject {
  return Type.Object({
    items: Type.Array(item),
    total: Type.Integer(),
    page: Type.Integer(),
    per_page: Type.Integer(),
    pages: Type.Integer(),
  })
}

/** Query keys of a paged list, to spread into its query schema. */
export function pageQuery(defaults: { perPage?: number; max?: number } = {}) {
  return {
    page: Type.Integer({ minimum: 1, maximum: 10_000_000, default: 1 }),
    per_page: Type.Integer({ minimum: 1, maximum: defaults.max ?? 200, default: defaults.perPage ?? 50 }),
  }
}

/** Puts one page of items into the envelope. */
export function page<T>(items: T[], total: number, query: { page: number; per_page: number }) {
  return { items, total, page: query.page, per_page: query.per_page, pages: Math.ceil(total / query.per_page) }
}
