// One package as the smallest CycloneDX document that external scanners match by distribution.
import { randomBytes } from 'node:crypto'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { PackageFacts } from '../../../domain/package.ts'
import { ensureDirectory } from '../../../kernel/files.ts'

/** A package as scanners read it. */
export interface DescribedPackage {
  purl: string
  name: string
  /** rpm: with the epoch in front, if there is one */
  version: string
  properties?: Record<string, string>
}

/** CycloneDX 1.5 JSON. Time and serial number are left out: the same package gives the same document. */
export function packageDocument(
  told: DescribedPackage,
  os?: { name: string; version: string; properties?: Record<string, string> },
): string {
  const system = os
    ? [{ 'bom-ref': 'os', type: 'operating-system', name: os.name, version: os.version, ...properties(os.properties) }]
    : []
  const component = {
    'bom-ref': 'package',
    type: 'library',
    name: told.name,
    version: told.version,
    purl: told.purl,
    ...properties(told.properties),
  }
  return JSON.stringify({
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
    metadata: { component: { 'bom-ref': 'root', type: 'application', name: 'gatehouse' } },
    components: [...system, component],
    dependencies: [
      { ref: 'root', dependsOn: os ? ['os'] : ['package'] },
      ...(os ? [{ ref: 'os', dependsOn: ['package'] }] : []),
    ],
  })
}

function properties(values: Record<string, string> | undefined) {
  return values ? { properties: Object.entries(values).map(([name, value]) => ({ name, value })) } : {}
}

/** The source package where it has another name or version than the package; null where it is the same. */
export function sourceOf(facts: PackageFacts): { name: string; version: string } | null {
  const name = facts.sourcePackage
  if (name === null) return null
  const version = facts.sourceVersion ?? facts.version
  return name === facts.name && version === facts.version ? null : { name, version }
}

/** Writes a document to a file for the time that a function runs. */
export async function withDocument<T>(
  directory: string,
  document: string,
  use: (path: string) => Promise<T>,
): Promise<T> {
  const path = join(directory, `${randomBytes(8).toString('hex')}.cdx.json`)
  await ensureDirectory(directory, 0o700)
  try {
    await writeFile(path, document, { mode: 0o600 })
    return await use(path)
  } finally {
    await rm(path, { force: true })
  }
}
