// Converts a search text to a pattern of LIKE. Pure.

/** An id as findings have it. Only the ids of GHSA have small letters, after the first word. */
export function advisoryId(text: string): string {
  const typed = text.trim()
  return /^ghsa-/i.test(typed) ? `GHSA-${typed.slice('ghsa-'.length).toLowerCase()}` : typed.toUpperCase()
}

/** Matches ids that begin with this text. */
export function prefixOf(text: string): string {
  return `${escapedForLike(advisoryId(text))}%`
}

/** Matches names in upper case that begin with this text. */
export function upperPrefixOf(text: string): string {
  return `${escapedForLike(text.trim().toUpperCase())}%`
}

/** Matches texts in lower case that contain this one. */
export function containing(text: string): string {
  return `%${escapedForLike(text.trim().toLowerCase())}%`
}

/** A pattern of LIKE that matches only this text. */
export function escapedForLike(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&')
}
