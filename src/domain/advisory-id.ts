// What the id of an advisory looks like; also in the browser.

/** Ids of advisories as they are typed or pasted. Packages are called go-md2man and suse-release, so a digit decides. */
const ADVISORY = /^(cve-|ghsa-|(dsa|dla|usn|rhsa|elsa|alsa|rlsa|pysec|go|rustsec|mal)-\d)/i

/** Whether the text is the beginning of an advisory's id, and not of a package's name. */
export function looksLikeAdvisory(text: string): boolean {
  return ADVISORY.test(text.trim())
}
