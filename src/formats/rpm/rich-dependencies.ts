// Parses boolean dependencies, `(a >= 1 or b)`, into clauses; each clause needs one of its relations. Pure.
import { invalid } from '../archive/limits.ts'
import type { ComparisonOperator, Relation } from '../../domain/package.ts'
import type { Term } from '../installation-rules.ts'

/** Any one of the relations satisfies it. */
export interface Clause {
  /** false if a condition decides whether it counts at all */
  strong: boolean
  anyOf: Relation[]
}

type Operator = Exclude<Term, Relation>['operator']

const OPERATORS: readonly string[] = ['and', 'or', 'with', 'without', 'if', 'unless'] satisfies Operator[]
/** Operators that may join more than two terms. */
const CHAINED: readonly string[] = ['and', 'or', 'with'] satisfies Operator[]
const COMPARISONS: Readonly<Record<string, ComparisonOperator>> = {
  '<': '<',
  '<=': '<=',
  '=<': '<=',
  '=': '=',
  '==': '=',
  '>=': '>=',
  '=>': '>=',
  '>': '>',
}
const DEEPEST = 32
const LONGEST = 16 * 1024
// Limit of one dependency's clauses: `(a and b) or (c and d) or …` doubles them with each pair.
const MOST_RELATIONS = 128

/**
 * https://rpm.org/docs/4.20.x/manual/boolean_dependencies.html
 * @throws Problem('invalid_package') for a dependency that rpm would not parse
 */
export function parseRichDependency(text: string): Clause[] {
  return clausesOf(parseTerm(text))
}

/** The tree of a boolean dependency. @throws Problem('invalid_package') */
export function parseTerm(text: string): Term {
  if (text.length > LONGEST) throw unreadable(text)
  const parser = createParser(text)
  const term = parser.group(0)
  parser.end()
  return term
}

function createParser(text: string): { group(depth: number): Term; end(): void } {
  let at = 0
  const fail = () => unreadable(text)
  const skipBlanks = () => {
    while (text[at] === ' ' || text[at] === '\t') at++
  }

  /** Up to a blank, a comma or a bracket that closes more than the word opened. */
  function word(): string {
    skipBlanks()
    const start = at
    let open = 0
    for (; at < text.length; at++) {
      const character = text[at]!
      if (character === '(') open++
      else if (character === ')' && --open < 0) break
      else if (character === ' ' || character === '\t' || character === ',') break
    }
    return text.slice(start, at)
  }

  function relation(): Relation {
    const name = word()
    if (name === '') throw fail()
    skipBlanks()
    const sign = /[<>=]*/y
    sign.lastIndex = at
    const found = sign.exec(text)![0]
    if (found === '') return { name }
    const op = COMPARISONS[found]
    at += found.length
    const version = word()
    if (!op || version === '') throw fail()
    return { name, op, version }
  }

  function term(depth: number): Term {
    skipBlanks()
    return text[at] === '(' ? group(depth) : relation()
  }

  function group(depth: number): Term {
    if (depth > DEEPEST || text[at] !== '(') throw fail()
    at++
    const terms = [term(depth + 1)]
    const operators: string[] = []
    for (;;) {
      skipBlanks()
      if (text[at] === ')') break
      operators.push(word())
      terms.push(term(depth + 1))
    }
    at++
    const [operator, second] = operators
    if (operator === undefined) return terms[0]!
    const isElse = (operator === 'if' || operator === 'unless') && second === 'else' && operators.length === 2
    const isChain = CHAINED.includes(operator) && operators.every((other) => other === operator)
    if (!OPERATORS.includes(operator) || (operators.length > 1 && !isElse && !isChain)) throw fail()
    return { operator: operator as Operator, terms }
  }

  return {
    group,
    end() {
      if (at !== text.length) throw fail()
    },
  }
}

/** Conjunctive normal form: all clauses must hold. Clauses under a condition become weak. */
function clausesOf(term: Term): Clause[] {
  if (!('operator' in term)) return [{ strong: true, anyOf: [term] }]
  const parts = term.terms.map(clausesOf)
  switch (term.operator) {
    case 'and':
    case 'with':
      return parts.flat()
    case 'or':
      return alternatives(parts)
    case 'without':
      return parts[0]!
    case 'if':
    case 'unless':
      // The second term is the condition, the third is the `else` term.
      return [...parts[0]!, ...(parts[2] ?? [])].map((clause) => ({ ...clause, strong: false }))
  }
}

/** One clause for every combination of the parts' clauses; if these are too many, a single weak one of everything. */
function alternatives(parts: readonly Clause[][]): Clause[] {
  const singles = parts.filter((part) => part.length === 1).flat()
  const others = parts.filter((part) => part.length > 1)
  const combinations = others.reduce((product, part) => product * part.length, 1)
  const all = parts.flat()
  const relations = all.reduce((sum, clause) => sum + clause.anyOf.length, 0)
  if (combinations > 1 && combinations * relations > MOST_RELATIONS) return [{ ...merged(all), strong: false }]
  return others.reduce(
    (found, part) => found.flatMap((left) => part.map((right) => merged([left, right]))),
    singles.length > 0 ? [merged(singles)] : [{ strong: true, anyOf: [] }],
  )
}

function merged(clauses: readonly Clause[]): Clause {
  return { strong: clauses.every((clause) => clause.strong), anyOf: clauses.flatMap((clause) => clause.anyOf) }
}

function unreadable(text: string): Error {
  return invalid(`the package has a dependency that cannot be read: ${JSON.stringify(text.slice(0, 80))}`)
}
