// Listings that differ from the records are found, confirmed, and sound again once the name is published again.
import { readFile, rm, writeFile } from 'node:fs/promises'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { openRegistry } from '../../publish/listing/listing.fixture.ts'
import { createRepositories } from '../../registries/repositories.ts'
import { decodeListing, encodeListing, listingPath } from '../../store/files/listing-files.ts'
import { confirmListing, listingFiles } from './listing-files.ts'
import { SOUND, type Suspect } from './inspection.ts'

let site: Awaited<ReturnType<typeof openRegistry>>
let path = ''
beforeAll(async () => {
  site = await openRegistry()
  const repositories = createRepositories({ ...site, audit: { record: async () => {}, flush: async () => {} } })
  await repositories.create(
    { format: 'npm', name: 'team', kind: 'hosted' },
    { name: 'ada', origin: { ip: null, requestId: null } },
  )
  await site.addFile('npm/team', 'left', '1')
  await site.addFile('npm/team', 'left', '2', 'quarantined')
  await site.addFile('npm/team', 'right', '1')
  path = listingPath(site.paths.listings, 'npm/team', 'left')
})
afterAll(() => site.close())
beforeEach(() => site.publisher.rebuild('npm/team'))

async function found(): Promise<Suspect[]> {
  const suspects: Suspect[] = []
  for await (const batch of listingFiles(site).suspects(null, new AbortController().signal))
    suspects.push(...batch.suspects)
  return suspects
}
const confirm = (suspect: Suspect) => confirmListing(site, async () => SOUND)(suspect)

async function show(change: (files: Record<string, { sha256: string | null; held: string | null }>) => void) {
  const listing = decodeListing(await readFile(path))
  change(listing.files)
  await writeFile(path, encodeListing(listing))
}

test('what was published is sound', async () => {
  expect(await found()).toEqual([])
})

test.each<[string, string, () => Promise<unknown>]>([
  ['a file that is gone', 'missing', () => rm(path)],
  ['a file that was cut', 'wrong_content', async () => writeFile(path, (await readFile(path)).subarray(0, 200))],
  ['a file with one byte more', 'wrong_content', async () => writeFile(path, `${await readFile(path, 'utf8')}x`)],
  ['other bytes for a version', 'wrong_content', () => show((files) => (files['left-1.tgz']!.sha256 = 'other'))],
  ['a refused version that is given', 'wrong_content', () => show((files) => (files['left-2.tgz']!.held = null))],
  ['a version that is left out', 'wrong_content', () => show((files) => delete files['left-1.tgz'])],
])('%s is found', async (_, fault, damage) => {
  await damage()
  const [suspect, ...more] = await found()
  expect([suspect, more]).toMatchObject([{ area: 'index', fault, distribution: 'npm/team' }, []])
  expect(await confirm(suspect!)).toMatchObject({ state: 'faulty' })
  await site.publisher.rebuild('npm/team')
  expect(await confirm(suspect!)).toEqual(SOUND)
})

test('a name that is being published is no finding', async () => {
  await rm(path)
  await site.addFile('npm/team', 'left', '3')
  expect(await found()).toEqual([])
})
