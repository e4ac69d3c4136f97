// Two processes write the manifest of one record at the same time, and a crash leaves unfinished manifests.
import { mkdir, readdir, symlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { KyselyPlugin } from 'kysely'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { createPublishingHouse, type PublishingHouse } from '../../publish/publisher.fixture.ts'
import type { Signers } from '../../formats/intake-format.ts'
import type { Database } from '../../store/db.ts'
import { createManifests } from './manifests.ts'

let database: Database
let house: PublishingHouse

beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.close())
beforeEach(async () => {
  house = await createPublishingHouse(database, {} as Signers, ['jammy'])
})
afterEach(() => house.close())

/** Runs something once, after the first answer of the database and before the caller receives it. */
function afterFirstAnswer(work: () => Promise<void>): KyselyPlugin {
  let isDone = false
  return {
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      if (!isDone) {
        isDone = true
        await work()
      }
      return result
    },
  }
}

// The embedded database has one process and one session, so work in between would wait for it.
test.runIf(process.env['TEST_DATABASE_URL'])(
  'the newer state stays, though its process wrote before the other',
  async () => {
    const { db } = database
    await house.addPackage('jammy', 'contested')
    const row = await db.selectFrom('packages').selectAll().where('name', '=', 'contested').executeTakeFirstOrThrow()
    const newer = createManifests(db, house.paths)
    const slow = createManifests(
      db.withPlugin(
        afterFirstAnswer(async () => {
          await db
            .updateTable('packages')
            .set((is) => ({ status: 'quarantined', changes: is('changes', '+', 1) }))
            .where('id', '=', row.id)
            .execute()
          await newer.write([row.id])
        }),
      ),
      house.paths,
    )
    await slow.write([row.id])
    expect((await newer.read(newer.key(row)))?.record.status).toBe('quarantined')
    expect(await newer.catchUp()).toBe(0)
  },
)

test('unfinished manifests that are old are removed, and no link is followed', async () => {
  const manifests = createManifests(database.db, house.paths)
  const letter = join(house.paths.manifests, 'jammy', 'a')
  const elsewhere = join(house.paths.manifests, '..', 'elsewhere')
  for (const directory of [letter, elsewhere]) {
    await mkdir(directory, { recursive: true })
    await writeFile(join(directory, '.a.json.1.tmp'), '')
    await utimes(join(directory, '.a.json.1.tmp'), 1, 1)
  }
  await writeFile(join(letter, '.b.json.2.tmp'), '')
  await writeFile(join(letter, 'c.json'), '{}')
  await symlink(elsewhere, join(letter, 'link'))
  await manifests.removeUnfinished(new Date(Date.now() - 60_000))
  expect((await readdir(letter)).sort()).toEqual(['.b.json.2.tmp', 'c.json', 'link'])
  expect(await readdir(elsewhere)).toEqual(['.a.json.1.tmp'])
})
