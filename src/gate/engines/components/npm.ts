// Modules in node_modules, as their package.json names them. Pure.
import { componentOf, Unreadable, type FoundComponent } from './component.ts'

/** The root of a module: right below `node_modules`, or below its scope. */
export const NPM_MANIFEST = /(?:^|\/)node_modules\/(?:@[^/]+\/)?[^/@.][^/]*\/package\.json$/
export const NPM_MANIFEST_BYTES = 1024 * 1024

// Old names may have capitals and signs that new ones may not.
const NAME = /^(?:@[A-Za-z0-9~][A-Za-z0-9._~-]*\/)?[A-Za-z0-9~_][A-Za-z0-9._~!'()*-]*$/

/** @throws Unreadable */
export function npmComponent(content: Buffer, path: string): FoundComponent {
  let said: Record<string, unknown> | null
  try {
    said = JSON.parse(content.toString('utf8').replace(/^\ufeff/, '')) as Record<string, unknown> | null
  } catch {
    throw new Unreadable('is not valid JSON')
  }
  if (said === null || typeof said !== 'object') throw new Unreadable('names no package or no version')
  const version = typeof said['version'] === 'string' ? said['version'].trim().replace(/^[v=]+/, '') : said['version']
  return componentOf('npm', { name: said['name'], version, license: licenseOf(said) }, path, NAME)
}

/** A string, or in old manifests an object or a list of objects. */
function licenseOf({ license, licenses }: Record<string, unknown>): unknown {
  const first: unknown = license ?? (Array.isArray(licenses) ? licenses[0] : licenses)
  return first !== null && typeof first === 'object' && 'type' in first ? first.type : first
}
