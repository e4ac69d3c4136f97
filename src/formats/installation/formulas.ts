// Boolean dependencies as sets; one member of each set is needed (https://rpm.org/docs/4.20.x/manual/boolean_dependencies.html).
import type { Relation } from '../../domain/package.ts'
import type { Term } from '../installation-rules.ts'

export interface FormulaDeps {
  /** packages that satisfy a relation, preferred ones first */
  matching(relation: Relation): number[]
  /** Makes an item that needs a member of each set and excludes the banned ones. It represents part of a dependency. */
  auxiliary(text: string, sets: readonly number[][], banned: number[] | null): number
}

export interface Formulas {
  /** The sets for which the term holds: a package needs one member of each. */
  required(term: Term, text: string): number[][]
  /** The same for the negation of the term. */
  excluded(term: Term, text: string): number[][]
}

const isRelation = (term: Term): term is Relation => !('operator' in term)

/** "Not installed" becomes an auxiliary item that excludes the package, so that only the two kinds of constraints remain. */
export function createFormulas({ matching, auxiliary }: FormulaDeps): Formulas {
  /** The packages that satisfy a term about one package: `with`, `without`, and `or` below them. */
  function satisfying(term: Term): number[] {
    if (isRelation(term)) return matching(term)
    const [first = [], ...others] = term.terms.map(satisfying)
    if (term.operator === 'or') return [...new Set([...first, ...others.flat()])]
    if (term.operator === 'without') return first.filter((one) => !others.some((list) => list.includes(one)))
    return first.filter((one) => others.every((list) => list.includes(one)))
  }

  function holds(term: Term, text: string): number[][] {
    if (isRelation(term)) return [matching(term)]
    const [a, b, c] = term.terms as [Term, Term, Term?]
    switch (term.operator) {
      case 'and':
        return term.terms.flatMap((one) => holds(one, text))
      case 'or':
        return [
          anyOf(
            term.terms.map((one) => holds(one, text)),
            text,
          ),
        ]
      case 'with':
      case 'without':
        return [satisfying(term)]
      case 'if':
        return [
          anyOf([holds(a, text), fails(b, text)], text),
          ...(c ? [anyOf([holds(c, text), holds(b, text)], text)] : []),
        ]
      case 'unless': {
        const plain = [...holds(a, text), ...fails(b, text)]
        return c ? [anyOf([plain, [...holds(c, text), ...holds(b, text)]], text)] : plain
      }
    }
  }

  function fails(term: Term, text: string): number[][] {
    if (isRelation(term)) return [[auxiliary(text, [], matching(term))]]
    const [a, b, c] = term.terms as [Term, Term, Term?]
    switch (term.operator) {
      case 'and':
        return [
          anyOf(
            term.terms.map((one) => fails(one, text)),
            text,
          ),
        ]
      case 'or':
        return term.terms.flatMap((one) => fails(one, text))
      case 'with':
      case 'without':
        return [[auxiliary(text, [], satisfying(term))]]
      case 'if': {
        const plain = [...holds(b, text), ...fails(a, text)]
        return c ? [anyOf([plain, [...fails(b, text), ...fails(c, text)]], text)] : plain
      }
      case 'unless':
        return [
          anyOf([fails(a, text), holds(b, text)], text),
          ...(c ? [anyOf([fails(c, text), fails(b, text)], text)] : []),
        ]
    }
  }

  const anyOf = (options: number[][][], text: string): number[] => [
    ...new Set(options.flatMap((sets) => (sets.length === 1 ? sets[0]! : [auxiliary(text, sets, null)]))),
  ]

  return { required: holds, excluded: fails }
}
