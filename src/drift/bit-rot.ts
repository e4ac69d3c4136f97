// Compares the bytes of stored files with their digests, those first that were compared longest ago.
import { relative } from 'node:path'
import { sql } from 'kysely'
import { isMissing } from '../kernel/files.ts'
import { suspectOf, type Inspection, type Suspect } from './inspection.ts'
import { oldestVerified, type Need } from './needs.ts'
import { pathIn, type StoredBytesDeps } from './stored-bytes.ts'
import { sizeOf } from './reading.ts'

/** A scan reads at least this much: a small pool is compared as a whole every day. */
const LEAST_BYTES = 1024 ** 3
/** A scan a day reads this share of the pool, so each file is compared every 20 days; with ten days missed, every 30. */
const SHARE = 20
const BATCH = 50

/** The cursor is the number of bytes read so far, and when the scan began in milliseconds since 1970. */
export function bitRot({ db, paths, pool, hashing }: StoredBytesDeps, now: () => Date): Inspection {
  /** What is damaged is marked too: it is a finding then, which every scan confirms. */
  async function noteVerified(needs: readonly Need[]): Promise<void> {
    await db
      .updateTable('blobs')
      .set({ verified_at: now() })
      .where(
        'sha256',
        'in',
        needs.map(({ sha256 }) => sha256),
      )
      .execute()
  }

  async function compare(need: Need, place: 'pool' | 'quarantine', signal: AbortSignal): Promise<Suspect | null> {
    const path = pathIn(pool, place, need)
    // Another size was found already.
    if (sizeOf(path) !== need.size_bytes) return null
    try {
      const { sha256 } = await hashing.digest(path, signal)
      if (sha256 === need.sha256) return null
    } catch (error) {
      if (isMissing(error)) return null
      throw error
    }
    return suspectOf(place, relative(paths.root, path), 'wrong_content', '', { sha256: need.sha256 })
  }

  return {
    name: 'digests of stored files',
    async *suspects(after, signal) {
      const [bytes = '0', start = String(now().getTime())] = after?.split(' ') ?? []
      const { total } = await db
        .selectFrom('blobs')
        .select(sql<number>`coalesce(sum(size_bytes), 0)::float8`.as('total'))
        .executeTakeFirstOrThrow()
      const budget = Math.max(LEAST_BYTES, total / SHARE)
      for (let read = Number(bytes); read < budget;) {
        const needs = await oldestVerified(db, new Date(Number(start)), BATCH)
        if (needs.length === 0) return
        const suspects: Suspect[] = []
        for (const need of needs) {
          for (const place of ['pool', 'quarantine'] as const) {
            if (!need[place]) continue
            const suspect = await compare(need, place, signal)
            if (suspect) suspects.push(suspect)
            read += need.size_bytes
          }
        }
        yield { suspects, checked: needs.length, after: `${read} ${start}` }
        // Once the findings are stored: a crash before that compares these files again.
        await noteVerified(needs)
      }
    },
  }
}
