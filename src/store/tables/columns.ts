// Kinds of columns.
import type { ColumnType } from 'kysely'

/** jsonb: inserted as JSON text, because the two drivers treat arrays differently; selected as a value. */
export type Json<T> = ColumnType<T, string, string>

export type JsonOrNull<T> = ColumnType<T | null, string | null | undefined, string | null>

export type OrNull<T> = ColumnType<T | null, T | null | undefined, T | null>
