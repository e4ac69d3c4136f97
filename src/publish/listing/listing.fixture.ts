// A repository with files for tests, in a format that shows what it was given.
import { createHash } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTestDatabase } from '../../../test/database.ts'
import type { PackageFacts } from '../../domain/package.ts'
import { placeOfRepository, readRepositoryKey } from '../../domain/repositories.ts'
import type { PackageStatus } from '../../domain/status.ts'
import type { Placed } from '../../formats/intake-format.ts'
import { realReaders } from '../../formats/readers/fixture.ts'
import { BASE, type RegistryFormat } from '../../formats/registry-format.ts'
import { createCheckpoint } from '../../kernel/checkpoint.ts'
import { createSecretBox } from '../../kernel/crypto.ts'
import { createPaths } from '../../store/paths.ts'
import { packFacts } from '../../domain/packed-facts.ts'
import { createListingPublisher } from './listing-publisher.ts'

const digest = (kind: string, text: string) => createHash(kind).update(text).digest('hex')
const AT = new Date('2026-03-01T00:00:00Z')

/** Its document lists the files with their state, the tags and the notes. The name `broken` has none. */
export const showing = {
  id: 'npm',
  isLibrary: true,
  versions: { isValid: () => true, compare: (a: string, b: string) => Number(a) - Number(b) },
  documents({ name, files, tags, notes }) {
    if (name === 'broken') throw new Error('this name cannot be rendered')
    return [
      {
        form: 'full',
        media: 'application/json',
        text: JSON.stringify({
          name,
          files: files
            .filter(({ held }) => !held || held.isListed)
            .map(({ version, arch, held }) => `${version} ${arch}${held ? ' held' : ''}`),
          tags,
          notes,
          at: `${BASE}/x`,
        }),
      },
    ]
  },
} as Partial<RegistryFormat> as RegistryFormat

export async function openRegistry() {
  const database = await createTestDatabase()
  const { db } = database
  const root = await mkdtemp(join(tmpdir(), 'listings-'))
  const paths = createPaths(root)
  const readers = realReaders(root)
  const errors: unknown[] = []
  const findRepository = (key: string): Placed<RegistryFormat> | null => {
    const read = readRepositoryKey(key)
    return read && { format: showing, distribution: placeOfRepository(read) }
  }
  const deps = {
    ...{
      db,
      paths,
      findRepository,
      clock: { now: () => new Date() },
      checkpoint: createCheckpoint(undefined),
      readers,
    },
    secretBox: createSecretBox('a key of a test'),
    onError: (error: unknown) => errors.push(error),
  }

  async function addFile(repository: string, name: string, version: string, status: PackageStatus = 'published') {
    const identity = [repository, name, version].join('\0')
    const sha256 = digest('sha256', identity)
    const record = { manifest: { name, version } }
    const facts = { format: 'npm', name, version, arch: 'any', requirements: [], provides: [], files: [], record }
    await db
      .insertInto('blobs')
      .values({
        ...{ sha256, format: 'npm', filename: `${name}-${version}.tgz`, size_bytes: 10, created_at: AT },
        ...{ sha512: digest('sha512', identity), sha1: digest('sha1', identity), md5: digest('md5', identity) },
        ...packFacts(facts as unknown as PackageFacts),
      })
      .execute()
    const { id } = await db
      .insertInto('packages')
      .values({
        ...{ distribution: repository, format: 'npm', name, version, arch: 'any', status, sha256 },
        ...{ received_sha256: sha256, imported_at: AT, imported_by: 'ada', import_method: 'upload' },
        ...{ pipeline: '{}', validation_steps: '[]', coverage: '{}', deps_missing: '[]', tags: '[]' },
      })
      .returning('id')
      .executeTakeFirstOrThrow()
    if (status === 'published') await offer(id)
    return id
  }

  async function offer(id: number) {
    const row = await db.selectFrom('packages').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
    const { distribution, sha256, name, version, arch } = row
    await db
      .insertInto('offers')
      .values({
        ...{ distribution, sha256, name, version, arch, package_id: id, from_revision: id },
        ...{ filename: `${name}-${version}.tgz`, began_by: 'upload' },
      })
      .execute()
  }

  return {
    ...deps,
    deps,
    engine: database.engine,
    errors,
    addFile,
    publisher: createListingPublisher(deps),
    /** as another replica */
    another: () => createListingPublisher(deps),
    async close() {
      await readers.close()
      await database.close()
      await rm(root, { recursive: true })
    },
  }
}
