// Dependencies in an rpm header, stored as three parallel lists for each kind. Pure.
import { invalid } from '../archive/limits.ts'
import type { Capability, ComparisonOperator, Relation, Requirement } from '../../domain/package.ts'
import { BOUNDS, checkCount, checkRelationsText } from '../bounds.ts'
import type { Header } from './header.ts'
import { parseRichDependency, type Clause } from './rich-dependencies.ts'
import { TAG } from './tags.ts'
import { isXmlText } from './xml.ts'

/** Name, flags (RPMSENSE bits) and `[epoch:]version[-release]`, empty if none is given. */
export type RpmDependency = [name: string, flags: number, version: string]

export const DEPENDENCY_KINDS = [
  'provides',
  'requires',
  'conflicts',
  'obsoletes',
  'suggests',
  'enhances',
  'recommends',
  'supplements',
] as const
export type DependencyKind = (typeof DEPENDENCY_KINDS)[number]

const TAGS: Readonly<Record<DependencyKind, readonly [name: number, flags: number, version: number]>> = {
  provides: [TAG.PROVIDENAME, TAG.PROVIDEFLAGS, TAG.PROVIDEVERSION],
  requires: [TAG.REQUIRENAME, TAG.REQUIREFLAGS, TAG.REQUIREVERSION],
  conflicts: [TAG.CONFLICTNAME, TAG.CONFLICTFLAGS, TAG.CONFLICTVERSION],
  obsoletes: [TAG.OBSOLETENAME, TAG.OBSOLETEFLAGS, TAG.OBSOLETEVERSION],
  suggests: [TAG.SUGGESTNAME, TAG.SUGGESTFLAGS, TAG.SUGGESTVERSION],
  enhances: [TAG.ENHANCENAME, TAG.ENHANCEFLAGS, TAG.ENHANCEVERSION],
  recommends: [TAG.RECOMMENDNAME, TAG.RECOMMENDFLAGS, TAG.RECOMMENDVERSION],
  supplements: [TAG.SUPPLEMENTNAME, TAG.SUPPLEMENTFLAGS, TAG.SUPPLEMENTVERSION],
}

export const SENSE = { LESS: 1 << 1, GREATER: 1 << 2, EQUAL: 1 << 3 } as const
const COMPARISON = SENSE.LESS | SENSE.GREATER | SENSE.EQUAL
const OPERATORS: Readonly<Record<number, ComparisonOperator>> = {
  [SENSE.LESS]: '<',
  [SENSE.LESS | SENSE.EQUAL]: '<=',
  [SENSE.EQUAL]: '=',
  [SENSE.GREATER | SENSE.EQUAL]: '>=',
  [SENSE.GREATER]: '>',
}
/** Qualifiers of `Requires(…)`, by flag; `interp` and the finders' flags only show where a dependency came from. */
const QUALIFIERS: readonly [flag: number, word: string][] = [
  [1 << 7, 'pretrans'],
  [1 << 9, 'pre'],
  [1 << 10, 'post'],
  [1 << 11, 'preun'],
  [1 << 12, 'postun'],
  [1 << 5, 'posttrans'],
]
const MISSING_OK = 1 << 19
export const PRE_FLAGS = (1 << 6) | (1 << 9) | (1 << 10)

/** Of one dependency; a boolean one may contain many names. */
const LONGEST_NAME = 65_536
export const MOST_RICH = 1024
export const MOST_RICH_CHARACTERS = 256 * 1024

export type Dependencies = Partial<Record<DependencyKind, RpmDependency[]>>

/** All kinds that have an entry. @throws Problem('invalid_package') for lists of different lengths */
export function readDependencies(header: Header): Dependencies {
  const found: Dependencies = {}
  const rich: string[] = []
  let relations = 0
  for (const kind of DEPENDENCY_KINDS) {
    const [nameTag, flagsTag, versionTag] = TAGS[kind]
    const most = kind === 'provides' ? BOUNDS.rpm.provides : BOUNDS.rpm.relations
    checkCount(kind, header.count(nameTag), most)
    const names = header.texts(nameTag, most)
    if (names.length === 0) continue
    if (kind !== 'provides') checkCount('relations', (relations += names.length), BOUNDS.rpm.allRelations)
    const flags = header.numbers(flagsTag, most)
    const bounds = header.texts(versionTag, most)
    for (const list of [flags, bounds]) {
      // Old packages have provides without versions.
      if (list.length !== 0 && list.length !== names.length) {
        throw invalid('the rpm header has dependencies that do not agree with each other')
      }
    }
    if (![...names, ...bounds].every(isOneLine))
      throw invalid('the rpm header has a dependency with a control character')
    for (const name of names) {
      if (name.length > LONGEST_NAME)
        throw invalid(`the package has a dependency of ${name.length} characters; at most ${LONGEST_NAME} are accepted`)
      if (isRich(name)) rich.push(name)
    }
    checkRelationsText(kind, names.join('') + bounds.join(''))
    if (rich.length > MOST_RICH || lengthOf(rich) > MOST_RICH_CHARACTERS)
      throw invalid('the package has too many boolean dependencies')
    found[kind] = names.map((name, index) => [name, flags[index] ?? 0, bounds[index] ?? ''])
  }
  return found
}

/** Features that rpm itself provides. */
export const isRpmFeature = (name: string): boolean => name.startsWith('rpmlib(')

const lengthOf = (texts: readonly string[]): number => texts.reduce((sum, text) => sum + text.length, 0)
const isOneLine = (text: string): boolean => isXmlText(text) && !/[\r\n]/.test(text)
export const isRich = (name: string): boolean => name.startsWith('(')

/** All kinds except provides, without features of rpm. @throws Problem('invalid_package') for an unreadable rich dependency */
export function requirementsOf(dependencies: Dependencies): Requirement[] {
  const order = ['requires', 'recommends', 'suggests', 'supplements', 'enhances', 'conflicts', 'obsoletes'] as const
  return order.flatMap((kind) =>
    (dependencies[kind] ?? [])
      .filter(([name]) => !isRpmFeature(name))
      .flatMap((dependency) => toRequirements(kind, dependency)),
  )
}

/** The provides; a provide without an exact version offers any version. */
export function providesOf(dependencies: Dependencies): Capability[] {
  return (dependencies.provides ?? []).map(([name, flags, version]) =>
    (flags & COMPARISON) === SENSE.EQUAL && version !== '' ? { name, version } : { name },
  )
}

/** The files that other packages may require by path: those in primary metadata, which clients always have. */
export function isPrimaryFile(path: string): boolean {
  return path.startsWith('/etc/') || path.includes('bin/') || path === '/usr/lib/sendmail'
}

/** Null if the flags contain no comparison. */
export function operatorOf(flags: number): ComparisonOperator | null {
  return OPERATORS[flags & COMPARISON] ?? null
}

function toRequirements(kind: DependencyKind, [name, flags, version]: RpmDependency): Requirement[] {
  const qualifiers = QUALIFIERS.filter(([flag]) => flags & flag).map(([, word]) => word)
  const word = kind === 'requires' && qualifiers.length > 0 ? `${kind}(${qualifiers.join(',')})` : kind
  const strong = kind === 'requires' && !(flags & MISSING_OK)
  if (isRich(name)) {
    const clauses = parseRichDependency(name)
    return clauses.map((clause) => ({
      kind: word,
      strong: strong && clause.strong,
      anyOf: clause.anyOf,
      text: clauses.length === 1 ? name : textOf(clause),
      whole: name,
    }))
  }
  const op = operatorOf(flags)
  const relation: Relation = op && version !== '' ? { name, op, version } : { name }
  return [{ kind: word, strong, anyOf: [relation], text: relationText(relation) }]
}

const textOf = ({ anyOf }: Clause): string => anyOf.map(relationText).join(' or ')

function relationText({ name, op, version }: Relation): string {
  return op === undefined ? name : `${name} ${op} ${version}`
}
