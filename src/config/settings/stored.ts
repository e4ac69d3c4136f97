// Reads and writes the text of `settings.json`: the values that were set, by whom, and sealed secrets.
import { claimsFault } from '../../domain/publishers.ts'
import { isSealed, type SecretBox } from '../../kernel/crypto.ts'
import { StartError } from '../../kernel/start-error.ts'
import { faultOf, LEAVES, MASK, ROOT_LEAVES, SECTIONS, type Leaf, type Values } from './leaves.ts'

export interface Stored {
  /** only values that were set; defaults stay in the declaration, so that a new default reaches existing installations */
  set: Values
  revision: number
  updatedAt: string | null
  updatedBy: string | null
  /** the parsed file: keys of a newer version survive a downgrade to this one */
  raw: Record<string, unknown>
  warnings: string[]
}

/** The file cannot be used; the message names what is wrong and contains no secret. */
export class SettingsFileError extends StartError {}

/** @throws SettingsFileError */
export function parseStored(text: string, box: SecretBox): Stored {
  let raw: unknown
  try {
    raw = JSON.parse(text)
  } catch {
    // The parser's message quotes the text, which may hold a secret.
    throw new SettingsFileError('it is not JSON; restore it from a backup, or remove it to start with the defaults')
  }
  if (!isObject(raw)) throw new SettingsFileError('it is not a JSON object')
  const stored: Stored = { set: new Map(), revision: 0, updatedAt: null, updatedBy: null, raw, warnings: [] }
  const faults: string[] = []
  readMeta(raw['_meta'], stored, faults)
  const set = new Map<string, unknown>()
  for (const [leaf, value] of leavesIn(raw, stored.warnings, faults)) {
    const opened = leaf.secret
      ? openSecret(leaf, value, box, stored.warnings, faults)
      : withoutUnbound(leaf, value, stored.warnings)
    const fault = faultOf(leaf, opened)
    if (fault) faults.push(`${leaf.path}${fault.at} ${fault.message}`)
    set.set(leaf.path, opened)
  }
  if (faults.length > 0) throw new SettingsFileError(faults.join('; '))
  return { ...stored, set }
}

/** The text of the file after a change. */
export function printStored(stored: Stored, box: SecretBox): string {
  const raw = structuredClone(stored.raw)
  for (const [path, value] of stored.set) {
    const leaf = LEAVES.get(path) as Leaf
    const kept = leaf.secret && value !== '' ? box.seal(value as string) : value
    if (leaf.section === null) raw[leaf.key] = kept
    else ((raw[leaf.section] ??= {}) as Record<string, unknown>)[leaf.key] = kept
  }
  const { revision, updatedAt: updated_at, updatedBy: updated_by } = stored
  return `${JSON.stringify({ ...raw, _meta: { revision, updated_at, updated_by } }, null, 2)}\n`
}

function readMeta(meta: unknown, stored: Stored, faults: string[]): void {
  if (meta === undefined) return
  const { revision, updated_at = null, updated_by = null } = isObject(meta) ? meta : {}
  const isTextOrNull = (value: unknown): value is string | null => value === null || typeof value === 'string'
  if (
    !Number.isSafeInteger(revision) ||
    (revision as number) < 0 ||
    !isTextOrNull(updated_at) ||
    !isTextOrNull(updated_by)
  ) {
    faults.push('_meta is damaged')
    return
  }
  stored.revision = revision as number
  stored.updatedAt = updated_at
  stored.updatedBy = updated_by
}

function* leavesIn(raw: Record<string, unknown>, warnings: string[], faults: string[]): Generator<[Leaf, unknown]> {
  for (const [key, value] of Object.entries(raw)) {
    if (key === '_meta') continue
    if (!SECTIONS.has(key)) {
      const leaf = ROOT_LEAVES.get(key)
      if (leaf) yield [leaf, value]
      else warnings.push(`${key} in the settings file is not known to this version and is ignored`)
      continue
    }
    if (!isObject(value)) {
      faults.push(`${key} must be an object`)
      continue
    }
    for (const [inner, innerValue] of Object.entries(value)) {
      const leaf = LEAVES.get(`${key}.${inner}`)
      if (leaf) yield [leaf, innerValue]
      else warnings.push(`${key}.${inner} in the settings file is not known to this version and is ignored`)
    }
  }
}

function openSecret(leaf: Leaf, value: unknown, box: SecretBox, warnings: string[], faults: string[]): unknown {
  if (typeof value !== 'string' || value === '') return value
  if (value === MASK) faults.push(`${leaf.path} holds the mask *** in place of a secret`)
  if (!isSealed(value)) {
    warnings.push(`${leaf.path} in the settings file is not encrypted; it will be with the next change of settings`)
    return value
  }
  try {
    return box.open(value)
  } catch {
    faults.push(
      `${leaf.path} cannot be decrypted: SETTINGS_ENCRYPTION_KEY is not the one it was encrypted with, or the file was altered`,
    )
    return ''
  }
}

/** Drops publishers of older builds whose conditions match jobs of other customers: they give no tokens; the rest stays valid. */
function withoutUnbound({ path }: Leaf, value: unknown, warnings: string[]): unknown {
  if (path !== 'trusted_publishing.publishers' || !Array.isArray(value)) return value
  return value.filter((publisher: unknown) => {
    const { name, claims } = isObject(publisher) ? publisher : {}
    const fault = isObject(claims) ? claimsFault(claims as Record<string, string>) : null
    if (fault !== null) warnings.push(`the publisher ${String(name)} is left out of ${path}: its claims ${fault}`)
    return fault === null
  })
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
