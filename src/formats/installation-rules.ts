// What a format states about packages that are installed together. Types.
import type { Relation } from '../domain/package.ts'

/** A boolean dependency as its format states it. */
export type Term = Relation | { operator: 'and' | 'or' | 'with' | 'without' | 'if' | 'unless'; terms: Term[] }

export interface InstallationRules {
  /** kinds of relations that exclude the packages they name or that provide what they name */
  excludes: readonly string[]
  /** kinds of relations that exclude packages by their own names only (rpm Obsoletes) */
  excludesByName?: readonly string[]
  /** a package that provides a name with a version excludes all others that provide the name (apk) */
  exclusiveProvides?: boolean
  /** boolean dependencies, whose clauses state them as `whole` */
  whole?: {
    /** whether it must hold when it has this kind and is not one of `excludes` */
    isStrong(kind: string): boolean
    parse(text: string): Term
  }
}
