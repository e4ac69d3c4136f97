// The names of npm packages: https://github.com/npm/validate-npm-package-name

const LONGEST = 214
/** With capitals and `~`, which packages of before 2014 have. */
const KNOWN = /^(?:@[a-z0-9_~][a-z0-9._~-]*\/)?[a-z0-9_~][a-z0-9._~-]*$/i
const NEW = /^(?:@[a-z0-9][a-z0-9._-]*\/)?[a-z0-9][a-z0-9._-]*$/
/** Paths that clients and web servers use for something else. */
const TAKEN = ['node_modules', 'favicon.ico']

/** npm compares names in every letter, so each has one spelling only: itself. Null for a text that no package may be called. */
export function canonicalName(name: string): string | null {
  return name.length <= LONGEST && KNOWN.test(name) && !TAKEN.includes(plainName(name).toLowerCase()) ? name : null
}

/** Whether a package may get this name today: names that differ in case only are one file on many disks. */
export const isNewName = (name: string): boolean => canonicalName(name) !== null && NEW.test(name)

/** Without its scope. */
export const plainName = (name: string): string => name.slice(name.indexOf('/') + 1)

/** `@team` of `@team/lib`; null when it has none. */
export const scopeOf = (name: string): string | null => (name.startsWith('@') ? name.slice(0, name.indexOf('/')) : null)

/** `left/-/left-1.0.0.tgz` */
export function fileAt(path: string): { name: string; filename: string } | null {
  const [, name, filename] = /^(.+)\/-\/([^/]+)$/.exec(path) ?? []
  return name === undefined || filename === undefined ? null : { name, filename }
}
