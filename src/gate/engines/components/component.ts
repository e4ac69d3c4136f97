// A component as read from a package's metadata, and the checks on its name and version. Pure.
import type { Component } from '../osv/matcher.ts'

/** A component inside a package, as its own metadata names it. */
export interface FoundComponent extends Component {
  /** path of the metadata inside the package; inside an archive `app.war!/WEB-INF/lib/a.jar` */
  path: string
  license: string | null
}

/** Why a file that looks like a component is not reported as one. */
export class Unreadable extends Error {}

const LONGEST_NAME = 300
const LONGEST_VERSION = 200
const LONGEST_LICENSE = 200
const LONGEST_PATH = 1000

/**
 * Checks name and version from an untrusted file.
 * @param grammar of the ecosystem's names
 * @throws Unreadable when it names no component
 */
export function componentOf(
  ecosystem: Component['ecosystem'],
  said: { name: unknown; version: unknown; license?: unknown },
  path: string,
  grammar: RegExp,
): FoundComponent {
  const { name, version } = said
  if (typeof name !== 'string' || typeof version !== 'string') throw new Unreadable('names no package or no version')
  if (name.length > LONGEST_NAME || !grammar.test(name))
    throw new Unreadable('has a name that its ecosystem does not allow')
  // Placeholders that a build did not fill in are not versions either.
  if (version.length > LONGEST_VERSION || !/^[A-Za-z0-9][A-Za-z0-9._+!~:-]*$/.test(version))
    throw new Unreadable('has a version that its ecosystem does not allow')
  return { ecosystem, name, version, path: shown(path), license: licenseOf(said.license) }
}

/** Text as it may be stored and shown: no control characters, whole Unicode, not too long. */
export function shown(text: string): string {
  const safe = Buffer.from(text.slice(0, LONGEST_PATH)).toString('utf8')
  return safe.replace(/[\0-\x1f\x7f]/g, '\ufffd')
}

function licenseOf(said: unknown): string | null {
  if (typeof said !== 'string') return null
  const text = said.trim()
  return text === '' || text.toUpperCase() === 'UNKNOWN' || text.length > LONGEST_LICENSE ? null : shown(text)
}
