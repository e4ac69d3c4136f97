// The row of a stored file: its digests and its facts.
import type { Insertable } from 'kysely'
import type { Digests, PackageFacts } from '../../domain/package.ts'
import { packFacts } from '../../domain/packed-facts.ts'
import { shownRequirement } from '../../formats/dependencies.ts'
import type { BlobsTable } from '../../store/tables.ts'

export function blobRow(
  { digests, filename, sizeBytes }: { digests: Digests; filename: string; sizeBytes: number },
  facts: PackageFacts,
  createdAt: Date,
): Insertable<BlobsTable> {
  return {
    ...digests,
    format: facts.format,
    filename,
    size_bytes: sizeBytes,
    ...packFacts(facts),
    installed_size_kb: facts.installedSizeKb,
    section: facts.section,
    description: facts.description,
    maintainer: facts.maintainer,
    license: facts.license,
    url: facts.url,
    source_package: facts.sourcePackage,
    source_version: facts.sourceVersion,
    dependencies: JSON.stringify(facts.requirements.filter(({ strong }) => strong).map(shownRequirement)),
    created_at: createdAt,
  }
}
