// --fields: the named fields of an answer as one line, for scripts on machines without jq.
import { usage } from './failure.ts'

/** @throws Failure for an empty name */
export function fieldNames(text: string): string[] {
  const names = text.split(',').map((name) => name.trim())
  if (names.includes('')) throw usage(`--fields is names with commas between them, not ${text}`)
  return names
}

/**
 * The values of the fields, with tabs between them. `sla.status` is a field of an object in the row.
 * @param strict refuses names that the row does not have; without it they are empty
 * @throws Failure naming the fields that there are: an empty column would hide a misspelt name
 */
export function fieldsOf(row: unknown, names: readonly string[], strict = true): string {
  return names.map((name) => textOf(valueAt(row, name, strict))).join('\t')
}

function valueAt(row: unknown, name: string, strict: boolean): unknown {
  let value = row
  for (const key of name.split('.')) {
    // Where a row has null instead of an object, the field is empty.
    if (value === null || value === undefined) return null
    if (typeof value !== 'object' || !Object.hasOwn(value, key)) {
      if (!strict) return null
      throw usage(`--fields: there is no ${name}; there are ${Object.keys(value).join(', ')}`)
    }
    value = (value as Record<string, unknown>)[key]
  }
  return value
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return ''
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ')
}
