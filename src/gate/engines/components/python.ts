// Installed Python projects, as their core metadata names them (https://packaging.python.org/specifications/core-metadata/). Pure.
import { componentOf, type FoundComponent } from './component.ts'

/** Wheels write a directory; setuptools a directory or, from distutils, one file. */
export const PYTHON_METADATA =
  /(?:^|\/)[^/]+\.dist-info\/METADATA$|(?:^|\/)(?:[^/]+\.egg-info|EGG-INFO)\/PKG-INFO$|(?:^|\/)[^/]+\.egg-info$/
/** Only this much of a file is read: the fields come first, and a description of any length may follow them. */
export const PYTHON_METADATA_BYTES = 128 * 1024

const NAME = /^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/

/** @throws Unreadable */
export function pythonComponent(head: Buffer, path: string): FoundComponent {
  const fields = new Map<string, string>()
  for (const line of head.toString('utf8').split(/\r?\n/)) {
    // The blank line before the description.
    if (line === '') break
    const [, key, value] = /^([A-Za-z-]+):[ \t]*(.*)$/.exec(line) ?? []
    if (key === undefined || value === undefined) continue
    const known = key.toLowerCase()
    if (!fields.has(known)) fields.set(known, value.trim())
  }
  const license = fields.get('license-expression') ?? fields.get('license')
  return componentOf('PyPI', { name: fields.get('name'), version: fields.get('version'), license }, path, NAME)
}
