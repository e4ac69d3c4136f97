// Converts a package's license text to the forms that both SBOM formats accept. Pure.
import parse from 'spdx-expression-parse'

/** `id`: one license of the SPDX list; `expression`: an SPDX expression; `name`: any other text. */
export interface License {
  kind: 'id' | 'expression' | 'name'
  text: string
}

/** Longer texts are not parsed. */
const MAX_EXPRESSION = 2000

/** @returns null when the package states no license */
export function licenseOf(text: string | null | undefined): License | null {
  const trimmed = text?.trim()
  if (!trimmed) return null
  if (trimmed.length > MAX_EXPRESSION) return { kind: 'name', text: trimmed }
  try {
    const info = parse(trimmed)
    // A `LicenseRef` refers to a document that does not exist here.
    if (/(License|Document|Addition)Ref-/.test(trimmed)) return { kind: 'name', text: trimmed }
    if (!('license' in info) || info.plus || info.exception) return { kind: 'expression', text: trimmed }
    return { kind: 'id', text: info.license }
  } catch {
    return { kind: 'name', text: trimmed }
  }
}
