// The secrets in the settings of an archive: which of them this system's key cannot open, and the file without them.
import { createSecretBox, isSealed } from '../../kernel/crypto.ts'

/**
 * @param key of the system that is restored into; null when it is not known here
 * @returns names of the settings whose secrets it does not open; none for a file that is no JSON, which the service reports at
 * its start
 */
export function unreadableSecrets(text: string, key: string | null): string[] {
  const box = key === null ? null : createSecretBox(key)
  const opens = (sealed: string): boolean => {
    try {
      box?.open(sealed)
      return box !== null
    } catch {
      return false
    }
  }
  const names: string[] = []
  visit(text, (name, sealed) => {
    if (!opens(sealed)) names.push(name)
    return sealed
  })
  return names
}

/** The same file with these secrets unset. */
export function withoutSecrets(text: string, names: readonly string[]): string {
  return visit(text, (name, sealed) => (names.includes(name) ? '' : sealed))
}

function visit(text: string, each: (name: string, sealed: string) => string): string {
  const path = new Map<object, string>()
  const replaced = function (this: object, key: string, value: unknown): unknown {
    const name = [path.get(this), key].filter(Boolean).join('.')
    if (typeof value === 'object' && value !== null) path.set(value, name)
    return typeof value === 'string' && isSealed(value) ? each(name, value) : value
  }
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch {
    return text
  }
  return `${JSON.stringify(parsed, replaced, 2)}\n`
}
