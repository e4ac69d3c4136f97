// What a search text means, and how it is written as a pattern of LIKE. Pure.

/** Ids of advisories as they are typed or pasted. Packages are called go-md2man and suse-release, so a digit decides. */
const ADVISORY = /^(cve-|ghsa-|(dsa|dla|usn|rhsa|elsa|alsa|rlsa|pysec|go|rustsec|mal)-\d)/i

/** Whether the text is the beginning of an advisory's id, and not of a package's name. */
export function looksLikeAdvisory(text: string): boolean {
  return ADVISORY.test(text.trim())
}

/** Ids that begin so. Only the ids of GHSA have small letters, after the first word. */
export function prefixOf(text: string): string {
  const typed = text.trim()
  const id = /^ghsa-/i.test(typed) ? `GHSA-${typed.slice('ghsa-'.length).toLowerCase()}` : typed.toUpperCase()
  return `${escaped(id)}%`
}

/** Texts in lower case that contain this one. */
export function containing(text: string): string {
  return `%${escaped(text.trim().toLowerCase())}%`
}

function escaped(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&')
}
