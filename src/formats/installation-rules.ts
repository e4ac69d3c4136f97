// A format's rules about packages that are installed at the same time. Types.
import type { Relation } from '../domain/package.ts'

/** A boolean dependency as its format states it. */
export type Term = Relation | { operator: 'and' | 'or' | 'with' | 'without' | 'if' | 'unless'; terms: Term[] }

export interface InstallationRules {
  /** kinds of relations that exclude the packages with a name, and those that provide it */
  excludes: readonly string[]
  /** kinds of relations that exclude only packages with the name, not those that provide it (rpm Obsoletes) */
  excludesByName?: readonly string[]
  /** a package that provides a name with a version excludes all others that provide the name (apk) */
  exclusiveProvides?: boolean
  /** boolean dependencies, which their clauses have as `whole` */
  whole?: {
    /** whether it must hold when it has this kind and is not one of `excludes` */
    isStrong(kind: string): boolean
    parse(text: string): Term
  }
}
