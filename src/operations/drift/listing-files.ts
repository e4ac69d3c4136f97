// Compares what clients read about the names of repositories with the records.
import { readFile } from 'node:fs/promises'
import { relative } from 'node:path'
import { sql } from 'kysely'
import { isRepository } from '../../domain/repositories.ts'
import { ifMissing } from '../../kernel/files.ts'
import type { Db } from '../../store/db.ts'
import { decodeListing, listingPath, type PublishedListing } from '../../store/files/listing-files.ts'
import type { Paths } from '../../store/paths.ts'
import { CHANGING, faulty, SOUND, suspectOf, type Confirm, type Inspection, type Verdict } from './inspection.ts'

export interface ListingDeps {
  db: Db
  paths: Pick<Paths, 'root' | 'listings'>
}

interface NameRow {
  repository: string
  name: string
}

const PAGE = 200

async function namesAfter(db: Db, repository: string | null, after: NameRow): Promise<NameRow[]> {
  const one = repository === null ? sql`true` : sql`repository = ${repository}`
  const { rows } = await sql<NameRow>`select repository, name from listings
    where (repository, name) > (${after.repository}, ${after.name}) and ${one}
    order by repository, name limit ${PAGE}`.execute(db)
  return rows
}

/** Finds names whose file is missing, damaged, or shows other files than the records allow. */
export function listingFiles(deps: ListingDeps): Inspection {
  return {
    name: 'listings of repositories',
    async *suspects(begun, signal) {
      let after = begun ? (JSON.parse(begun) as NameRow) : { repository: '', name: '' }
      for (;;) {
        signal.throwIfAborted()
        const names = await namesAfter(deps.db, null, after)
        if (names.length === 0) return
        const verdicts: Verdict[] = []
        for (const one of names) verdicts.push(await verdictOn(deps, one))
        const suspects = verdicts.flatMap((verdict) => (verdict.state === 'faulty' ? [verdict.suspect] : []))
        after = names.at(-1) as NameRow
        yield { suspects, checked: names.length, after: JSON.stringify(after) }
      }
    },
  }
}

/** @param others confirms what belongs to a distribution */
export function confirmListing(deps: ListingDeps, others: Confirm): Confirm {
  return async (suspect) => {
    const { distribution: repository, subject } = suspect
    if (repository === null || !isRepository(repository)) return others(suspect)
    // The path has only the digest of the name.
    for (let after = { repository: '', name: '' }; ;) {
      const names = await namesAfter(deps.db, repository, after)
      const found = names.find(({ name }) => subjectOf(deps, { repository, name }) === subject)
      if (found) return verdictOn(deps, found)
      if (names.length < PAGE) return SOUND
      after = names.at(-1) as NameRow
    }
  }
}

const subjectOf = ({ paths }: ListingDeps, { repository, name }: NameRow) =>
  relative(paths.root, listingPath(paths.listings, repository, name))

async function verdictOn(deps: ListingDeps, one: NameRow): Promise<Verdict> {
  const { db, paths } = deps
  const state = () =>
    db
      .selectFrom('listings')
      .select(['revision', 'published_revision'])
      .where('repository', '=', one.repository)
      .where('name', '=', one.name)
      .executeTakeFirst()
  const before = await state()
  if (!before || before.published_revision < before.revision) return CHANGING
  const { rows } = await sql<{ filename: string; sha256: string; served: boolean }>`select b.filename, p.sha256,
      exists (select from offers o where o.package_id = p.id and o.until_revision is null) as served
    from packages p join blobs b on b.sha256 = p.sha256
    where p.distribution = ${one.repository} and p.name = ${one.name}`.execute(db)
  const content = await readFile(listingPath(paths.listings, one.repository, one.name)).catch(ifMissing(null))
  if ((await state())?.revision !== before.revision) return CHANGING
  const suspect = (fault: 'missing' | 'wrong_content', detail: string) =>
    faulty(suspectOf('index', subjectOf(deps, one), fault, detail, { distribution: one.repository }))
  if (content === null) return rows.length === 0 ? SOUND : suspect('missing', `clients do not see ${one.name}`)
  let listing: PublishedListing
  try {
    listing = decodeListing(content)
  } catch {
    return suspect('wrong_content', `what clients read about ${one.name} is damaged`)
  }
  const wrong = rows.find(({ filename, sha256, served }) => {
    const shown = listing.files[filename]
    return shown?.sha256 !== sha256 || (shown.held === null) !== served
  })
  return wrong ? suspect('wrong_content', `${wrong.filename} is shown otherwise than it was decided`) : SOUND
}
