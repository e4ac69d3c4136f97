// What the id of an advisory looks like. Also used in the browser.

/** Ids of advisories as people type or paste them. Packages are called go-md2man and suse-release, so a digit must follow. */
const ADVISORY =
  /^((debian-|ubuntu-|alpine-)?cve-|ghsa-|(dsa|dla|dtsa|usn|lsn|rhsa|elsa|alsa|rlsa|cesa|(open)?suse-su|fedora|fedora-epel|pysec|go|rustsec|mal|osv)-\d)/i

/** Names of one vulnerability that are kept with a finding. */
const MOST_ALIASES = 100

/**
 * The other ids of a finding, sorted, without CVEs: each CVE is a finding of its own.
 * @param id the finding's own
 */
export function aliasesAmong(id: string, names: readonly string[]): string[] {
  const others = names.filter((name) => name !== id && name.length <= 200 && !/^CVE-/i.test(name))
  return [...new Set(others)].sort().slice(0, MOST_ALIASES)
}

/** Whether the text is the beginning of a CVE's id. No finding has such an alias. */
export function looksLikeCve(text: string): boolean {
  return /^cve-/i.test(text.trim())
}

/** Whether the text is the beginning of an advisory's id, and not of a package's name. */
export function looksLikeAdvisory(text: string): boolean {
  return ADVISORY.test(text.trim())
}
