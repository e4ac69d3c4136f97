// What an entry of SVC_DISTRIBUTIONS_FILE may say, and the distribution that it declares. Pure.
import Type, { type Static } from 'typebox'
import type { Distribution } from '../../domain/package.ts'
import { FORMATS } from '../index.ts'
import type { PackageFormat } from '../format.ts'

const Text = Type.String({ minLength: 1, maxLength: 200, pattern: '^[^\\x00-\\x1f\\x7f]+$' })

/** Without blanks at its ends, which clients drop, and without blank lines, which would end the Release. */
const FieldText = Type.String({
  minLength: 1,
  maxLength: 200,
  pattern: '^[^\\s\\x00-\\x1f\\x7f](?:[^\\x00-\\x1f\\x7f]*[^\\s\\x00-\\x1f\\x7f])?$',
})

/** Part of paths and URLs. Dots are allowed only within a release, so that no codename looks like a file beside it. */
export const CODENAME = '^[a-z0-9]+([-+_][a-z0-9]+|\\.[0-9]+)*$'

export const EntrySchema = Type.Object(
  {
    codename: Type.String({ pattern: CODENAME, maxLength: 64 }),
    format: Type.Optional(Type.Enum([...FORMATS])),
    architectures: Type.Optional(Type.Array(Type.String(), { minItems: 1, maxItems: 8, uniqueItems: true })),
    component: Type.Optional(Type.String({ pattern: '^[a-z0-9]+(-[a-z0-9]+)*$', maxLength: 64 })),
    scanner_distro: Type.Optional(Type.String({ pattern: '^[a-z0-9/-]+:[a-z0-9.]+$', maxLength: 64 })),
    os: Type.Optional(Text),
    version: Type.Optional(Text),
    name: Type.Optional(Text),
    full_name: Type.Optional(Text),
    origin: Type.Optional(FieldText),
    label: Type.Optional(FieldText),
    suite: Type.Optional(Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9~.:_+/-]*$', maxLength: 64 })),
    description: Type.Optional(FieldText),
    not_automatic: Type.Optional(Type.Boolean()),
    but_automatic_upgrades: Type.Optional(Type.Boolean()),
    aliases: Type.Optional(
      Type.Array(Type.String({ pattern: CODENAME, maxLength: 64 }), { maxItems: 8, uniqueItems: true }),
    ),
    package_manager: Type.Optional(Type.String()),
    package_manager_major: Type.Optional(Type.Integer({ minimum: 1, maximum: 99 })),
    package_format_major: Type.Optional(Type.Integer({ minimum: 1, maximum: 99 })),
  },
  { additionalProperties: false },
)
export type Entry = Static<typeof EntrySchema>

/** Directories of a format's tree that a component would hide. */
const RESERVED_COMPONENTS = new Set(['pool', 'by-hash'])

/**
 * The distribution that an entry declares: a new one, or the preset of that codename with the entry's changes.
 * @param architectures the default architectures of distributions, by Debian's names
 * @param fault called for each fault; the result is then useless
 */
export function distributionOf(
  entry: Entry,
  preset: Distribution | null,
  formats: readonly PackageFormat[],
  architectures: readonly string[],
  fault: (field: keyof Entry, sentence: string) => void,
): Distribution | null {
  if (preset && entry.format && entry.format !== preset.format)
    fault('format', `is ${preset.format} for this preset; a distribution of another format needs another codename`)
  const format = formats.find(({ id }) => id === (preset?.format ?? entry.format))
  if (!preset && !entry.format) fault('format', 'is required for a codename that is no preset')
  if (!preset && !entry.scanner_distro)
    fault('scanner_distro', 'is required for a codename that is no preset: without it scanners find nothing')
  if (!format) return null
  checkComponent(entry, format, fault)
  checkRelease(entry, format, fault)
  if (entry.package_manager && !format.packageManagers.includes(entry.package_manager))
    fault('package_manager', `must be ${format.packageManagers.join(' or ')}`)
  const wanted = entry.architectures ?? preset?.architectures ?? architectures
  const own = new Set(wanted.flatMap((name) => archOf(format, name) ?? []))
  if (own.size < wanted.length)
    fault('architectures', `must be among ${Object.values(format.architectures).join(', ')} for ${format.id}`)
  const scannerDistro = entry.scanner_distro ?? preset?.scannerDistro ?? ''
  const [system = '', release = ''] = scannerDistro.split(':')
  const name = entry.name ?? preset?.name ?? entry.codename
  const major = entry.package_manager_major ?? preset?.packageManagerMajor
  const newestFormat = entry.package_format_major ?? preset?.packageFormatMajor
  return {
    codename: entry.codename,
    format: format.id,
    architectures: [...own],
    component: entry.component ?? preset?.component ?? format.component,
    scannerDistro,
    os: entry.os ?? preset?.os ?? system,
    osVersion: entry.version ?? preset?.osVersion ?? release,
    name,
    fullName: entry.full_name ?? preset?.fullName ?? name,
    packageManager: entry.package_manager ?? preset?.packageManager ?? format.packageManagers[0] ?? '',
    ...(major === undefined ? {} : { packageManagerMajor: major }),
    ...(newestFormat === undefined ? {} : { packageFormatMajor: newestFormat }),
    ...releaseOf(entry),
  }
}

function checkComponent(
  { component }: Entry,
  format: PackageFormat,
  fault: (field: keyof Entry, sentence: string) => void,
): void {
  if (component === undefined) return
  if (format.component === null) fault('component', `does not exist in ${format.id} repositories`)
  if (RESERVED_COMPONENTS.has(component)) fault('component', `must not be ${component}, which the tree uses itself`)
}

const RELEASE_KEYS = [
  ...(['origin', 'label', 'suite', 'description', 'not_automatic', 'but_automatic_upgrades', 'aliases'] as const),
]

function checkRelease(
  entry: Entry,
  format: PackageFormat,
  fault: (field: keyof Entry, sentence: string) => void,
): void {
  for (const key of RELEASE_KEYS)
    if (entry[key] !== undefined && !format.hasReleaseFields) fault(key, `does not exist in ${format.id} repositories`)
  // apt reads the second only if the first is set.
  if (entry.but_automatic_upgrades && !entry.not_automatic)
    fault('but_automatic_upgrades', 'has no effect without not_automatic')
}

function releaseOf(entry: Entry): Pick<Distribution, 'release' | 'aliases'> {
  const { origin, label, suite, description, aliases = [] } = entry
  const fields = Object.entries({
    ...{ origin, label, suite, description },
    notAutomatic: entry.not_automatic || undefined,
    butAutomaticUpgrades: entry.but_automatic_upgrades || undefined,
  }).filter(([, value]) => value !== undefined)
  return {
    ...(fields.length > 0 ? { release: Object.fromEntries(fields) } : {}),
    ...(aliases.length > 0 ? { aliases } : {}),
  }
}

/** The format's name of an architecture that is given by that name or by Debian's. */
export function archOf(format: PackageFormat, name: string): string | undefined {
  if (Object.hasOwn(format.architectures, name)) return format.architectures[name]
  return Object.values(format.architectures).find((own) => own === name)
}
