// What a package says of its licence, as both SBOM formats want it told. Pure.
import parse from 'spdx-expression-parse'

/** `id`: one licence of the SPDX list; `expression`: several, or one with an addition; `name`: words that SPDX does not know. */
export interface License {
  kind: 'id' | 'expression' | 'name'
  text: string
}

/** Longer ones are texts, not names: no parser gets to see them. */
const MAX_EXPRESSION = 2000

/** @returns null where the package says nothing */
export function licenseOf(text: string | null | undefined): License | null {
  const trimmed = text?.trim()
  if (!trimmed) return null
  if (trimmed.length > MAX_EXPRESSION) return { kind: 'name', text: trimmed }
  try {
    const info = parse(trimmed)
    // A reference into a document that nobody has is a name.
    if (/(License|Document|Addition)Ref-/.test(trimmed)) return { kind: 'name', text: trimmed }
    if (!('license' in info) || info.plus || info.exception) return { kind: 'expression', text: trimmed }
    return { kind: 'id', text: info.license }
  } catch {
    return { kind: 'name', text: trimmed }
  }
}
