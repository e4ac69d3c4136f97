// Settings as people write them: `email.smtp_port=587`.
import { usage } from './failure.ts'

type Document = Record<string, unknown>

const isObject = (value: unknown): value is Document =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Every key with its value, as lines: `email.smtp_port`, 587. Lists are one value. */
export function flat(value: unknown, prefix = ''): [string, unknown][] {
  if (!isObject(value) || Object.keys(value).length === 0) return [[prefix, value]]
  return Object.entries(value).flatMap(([key, inner]) => flat(inner, prefix === '' ? key : `${prefix}.${key}`))
}

/** @throws Failure naming the keys beside a key that there is not */
export function at(document: Document, path: string): unknown {
  let value: unknown = document
  // Names of sources contain dots, so each step takes the longest key that fits.
  for (let rest = path; rest !== '';) {
    const keys = isObject(value) ? Object.keys(value) : []
    const fitting = keys.filter((key) => rest === key || rest.startsWith(`${key}.`)).sort((a, b) => b.length - a.length)
    const [key] = fitting
    if (key === undefined) throw usage(`there is no ${path}${keys.length > 0 ? `; there are ${keys.join(', ')}` : ''}`)
    value = (value as Document)[key]
    rest = rest.slice(key.length + 1)
  }
  return value
}

/**
 * The body that makes the assignments. A value is text where the present value is text, otherwise JSON.
 * @throws Failure for a key that there is not, or a value that is no JSON
 */
export function bodyOf(assignments: readonly string[], present: Document): Document {
  const body: Document = {}
  for (const text of assignments) {
    const equals = text.indexOf('=')
    if (equals < 1) throw usage(`write KEY=VALUE, not ${text}`)
    const path = text.slice(0, equals)
    set(body, present, path, valueOf(path, text.slice(equals + 1), at(present, path)))
  }
  return body
}

function valueOf(path: string, text: string, present: unknown): unknown {
  if (typeof present === 'string') return text
  try {
    return JSON.parse(text) as unknown
  } catch {
    // A value that may be absent is null at first; then it is text.
    if (present === null) return text
    throw usage(`${path} is ${JSON.stringify(present)} now; write its new value as JSON, not ${text}`)
  }
}

/** Puts the value below the same keys that the present document has. */
function set(body: Document, present: Document, path: string, value: unknown): void {
  const keys = Object.keys(present)
  const key =
    keys.filter((one) => path === one || path.startsWith(`${one}.`)).sort((a, b) => b.length - a.length)[0] ?? path
  if (key === path) body[key] = value
  else {
    const inner = isObject(body[key]) ? body[key] : {}
    body[key] = inner
    set(inner, present[key] as Document, path.slice(key.length + 1), value)
  }
}
