// The row of a stored file: its digests, and what it states about itself.
import type { Insertable } from 'kysely'
import type { Digests, PackageFacts } from '../domain/package.ts'
import { packFacts } from '../domain/packed-facts.ts'
import type { BlobsTable } from '../store/tables.ts'

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
    dependencies: JSON.stringify(dependenciesOf(facts)),
    created_at: createdAt,
  }
}

function dependenciesOf({ requirements }: PackageFacts): { name: string; version_constraint: string }[] {
  return requirements
    .filter((requirement) => requirement.strong)
    .map((requirement) => {
      const [only, ...others] = requirement.anyOf
      if (!only || others.length > 0) return { name: requirement.text, version_constraint: '' }
      return { name: only.name, version_constraint: only.op ? `${only.op} ${only.version ?? ''}` : '' }
    })
}
