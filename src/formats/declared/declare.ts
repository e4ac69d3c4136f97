// The distributions that a deployment declares: presets by name, and entries of a file. Pure.
import Type from 'typebox'
import Value from 'typebox/value'
import type { Distribution } from '../../domain/package.ts'
import type { PackageFormat } from '../format.ts'
import { meantBy } from '../unknown-distribution.ts'
import { archOf, distributionOf, EntrySchema, type Entry } from './entry.ts'

export interface Declaration {
  /** presets by codename; null for the default list */
  names: readonly string[] | null
  /** the architectures of presets, by Debian's names */
  architectures: readonly string[]
  /** parsed content of the file; null without one */
  file: unknown
}

const FileSchema = Type.Object({ distributions: Type.Array(Type.Unknown()) }, { additionalProperties: false })

/** @returns the distributions in the order of formats, presets before own ones; and a sentence for each fault */
export function declareDistributions(
  formats: readonly PackageFormat[],
  { names, architectures, file }: Declaration,
): { distributions: Distribution[]; faults: string[] } {
  const faults: string[] = []
  const presets = new Map(
    formats.flatMap((format) =>
      [...format.distributions, ...format.presets].map((preset): [string, Distribution] => [
        preset.codename,
        { ...preset, architectures: architectures.flatMap((name) => archOf(format, name) ?? []) },
      ]),
    ),
  )
  const declared = new Map<string, Distribution>()
  for (const name of names ?? formats.flatMap((format) => format.distributions.map(({ codename }) => codename))) {
    const preset = presets.get(name)
    if (preset) declared.set(name, preset)
    else faults.push(`SVC_DISTRIBUTIONS: ${unknownPreset(name, [...presets.values()])}`)
  }
  const entries = entriesOf(file, faults)
  for (const [at, entry] of entries.entries()) {
    const where = `SVC_DISTRIBUTIONS_FILE: distributions[${at}]`
    const own = readEntry(entry, where, faults)
    if (!own) continue
    const fault = (field: string, sentence: string) => faults.push(`${where} ${own.codename}: ${field} ${sentence}`)
    if (entries.findIndex((other) => codenameOf(other) === own.codename) !== at) fault('codename', 'occurs twice')
    const distribution = distributionOf(own, presets.get(own.codename) ?? null, formats, architectures, fault)
    if (distribution) declared.set(own.codename, distribution)
  }
  faults.push(...aliasFaults([...declared.values()]))
  if (declared.size === 0 && faults.length === 0)
    faults.push('SVC_DISTRIBUTIONS and SVC_DISTRIBUTIONS_FILE declare no distribution')
  const order = formats.map(({ id }) => id)
  const distributions = [...declared.values()].sort((a, b) => order.indexOf(a.format) - order.indexOf(b.format))
  return { distributions, faults }
}

/** Faults of names that lead to more than one distribution. */
function aliasFaults(declared: readonly Distribution[]): string[] {
  const owners = new Map(declared.map(({ codename }) => [codename, `the codename of a distribution`]))
  return declared.flatMap(({ codename, aliases = [] }) =>
    aliases.flatMap((alias) => {
      const taken = owners.get(alias)
      owners.set(alias, taken ?? `an alias of ${codename}`)
      return taken ? [`SVC_DISTRIBUTIONS_FILE: ${codename}: the alias ${alias} is ${taken} already`] : []
    }),
  )
}

function unknownPreset(name: string, presets: readonly Distribution[]): string {
  const meant = meantBy(name, presets)
  const hint =
    meant.length > 0
      ? `did you mean ${meant.join(' or ')}?`
      : `there are ${presets.map(({ codename }) => codename).join(', ')}`
  return `there is no preset ${JSON.stringify(name.slice(0, 100))}; ${hint}`
}

function entriesOf(file: unknown, faults: string[]): unknown[] {
  if (file === null) return []
  if (Value.Check(FileSchema, file)) return file.distributions
  faults.push('SVC_DISTRIBUTIONS_FILE: must be an object whose only key is "distributions", a list')
  return []
}

function readEntry(entry: unknown, where: string, faults: string[]): Entry | null {
  if (Value.Check(EntrySchema, entry)) return entry
  const codename = codenameOf(entry)
  const at = codename === null ? where : `${where} ${JSON.stringify(codename.slice(0, 70))}`
  for (const { keyword, instancePath, message, params } of Value.Errors(EntrySchema, entry)) {
    // TypeBox reports an unknown key a second time, as a value that the schema `false` refuses.
    if (keyword === 'boolean') continue
    const field = instancePath.slice(1).replaceAll('/', '.')
    faults.push(`${at}: ${field === '' ? '' : `${field} `}${sentenceOf(message, params)}`)
  }
  return null
}

function sentenceOf(message: string, params: object): string {
  const { additionalProperties, allowedValues } = params as Record<string, readonly string[] | undefined>
  if (additionalProperties) return `has no key ${additionalProperties.join(', ')}`
  return allowedValues ? `must be one of ${allowedValues.join(', ')}` : message
}

function codenameOf(entry: unknown): string | null {
  const { codename } = (entry ?? {}) as { codename?: unknown }
  return typeof codename === 'string' ? codename : null
}
