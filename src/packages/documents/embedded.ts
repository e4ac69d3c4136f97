// The components of stored files, in the form that documents list them.
import type { Components } from '../../store/files/components.ts'
import type { InventoryRow } from '../records/inventory-query.ts'
import type { EmbeddedComponent } from './purl.ts'

const TYPES = { npm: 'npm', PyPI: 'pypi', Maven: 'maven' } as const

/** Returns the components by record id. */
export function embeddedOf(components: Pick<Components, 'ofFiles'>) {
  return async (rows: readonly Pick<InventoryRow, 'id' | 'sha256'>[]): Promise<Map<number, EmbeddedComponent[]>> => {
    const files = await components.ofFiles(rows.map((row) => row.sha256))
    return new Map(
      rows.map(({ id, sha256 }) => [
        id,
        (files.get(sha256) ?? []).map(({ ecosystem, name, version, license, path }) => ({
          type: TYPES[ecosystem],
          name,
          version,
          license,
          path,
        })),
      ]),
    )
  }
}
