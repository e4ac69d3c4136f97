// Relationship fields of a control file (Debian Policy 7.1). Pure.
import { invalid } from '../archive/limits.ts'
import type { Capability, ComparisonOperator, Relation, Requirement } from '../../domain/package.ts'
import { BOUNDS, checkCount, quote } from '../bounds.ts'
import { fieldOf, type ControlField } from './control.ts'
import { versions } from './versions.ts'

/** Relationship fields: whether they must be met, and whether dpkg accepts `|` in them. */
const FIELDS = [
  { name: 'Depends', strong: true, alternatives: true },
  { name: 'Pre-Depends', strong: true, alternatives: true },
  { name: 'Recommends', strong: false, alternatives: true },
  { name: 'Suggests', strong: false, alternatives: true },
  { name: 'Enhances', strong: false, alternatives: true },
  { name: 'Breaks', strong: false, alternatives: false },
  { name: 'Conflicts', strong: false, alternatives: false },
  { name: 'Replaces', strong: false, alternatives: false },
] as const

/** Policy 7.1; `<` and `>` are old spellings of `<=` and `>=`. */
const OPERATORS: Readonly<Record<string, ComparisonOperator>> = {
  '<<': '<',
  '<=': '<=',
  '=': '=',
  '>=': '>=',
  '>>': '>',
  '<': '<=',
  '>': '>=',
}

/** All relationship fields except Provides. @throws Problem('invalid_package') for a relation that dpkg cannot parse */
export function parseRequirements(fields: readonly ControlField[]): Requirement[] {
  checkCount(
    'relations',
    FIELDS.reduce((sum, { name }) => sum + relationsIn(fieldOf(fields, name)), 0),
    BOUNDS.deb.allRelations,
  )
  return FIELDS.flatMap(({ name, strong, alternatives }) =>
    items(name, fieldOf(fields, name), BOUNDS.deb.relations).map((text): Requirement => {
      const anyOf = text.split('|').map((relation) => parseRelation(relation, name))
      if (anyOf.length > 1 && !alternatives) throw invalid(`the field ${name} has alternatives, which it cannot have`)
      return { kind: name.toLowerCase(), strong, anyOf, text }
    }),
  )
}

/** Policy 7.5: only an exact version may be given. */
export function parseProvides(fields: readonly ControlField[]): Capability[] {
  return items('Provides', fieldOf(fields, 'Provides'), BOUNDS.deb.provides).map((text) => {
    const { name, op, version } = parseRelation(text, 'Provides')
    if (op !== undefined && op !== '=') throw invalid('the field Provides has a version that is not exact')
    return version === undefined ? { name } : { name, version }
  })
}

/** The items between the commas, with single blanks; empty items are ignored, as dpkg does. */
function items(field: string, value: string | undefined, most: number): string[] {
  if (value === undefined) return []
  checkCount(`relations in ${field}`, relationsIn(value), most)
  return value
    .split(',')
    .map((item) => item.replace(/\s+/g, ' ').trim())
    .filter((item) => item !== '')
}

const RELATION = /^([A-Za-z0-9][A-Za-z0-9+._-]*)(?::([a-z0-9-]+))?(?: ?\( ?(<<|<=|=|>=|>>|<|>)? ?([^ ()]+) ?\))?$/

function parseRelation(text: string, field: string): Relation {
  const parts = RELATION.exec(text.trim())
  const [, name, arch, operator, version] = parts ?? []
  if (name === undefined) throw invalid(`the field ${field} has a relation that cannot be read: ${quote(text)}`)
  if (version === undefined) return arch === undefined ? { name } : { name, arch }
  if (!versions.isValid(version)) throw invalid(`the field ${field} has a version that cannot be read: ${quote(text)}`)
  // Without an operator dpkg reads "exactly".
  const relation: Relation = { name, op: OPERATORS[operator ?? '='] ?? '=', version }
  return arch === undefined ? relation : { ...relation, arch }
}

/** Upper bound of the relations in a field; each alternative counts. */
function relationsIn(value: string | undefined): number {
  return value === undefined ? 0 : 1 + countOf(value, ',') + countOf(value, '|')
}

function countOf(text: string, character: string): number {
  let count = 0
  for (let at = text.indexOf(character); at !== -1; at = text.indexOf(character, at + 1)) count++
  return count
}
