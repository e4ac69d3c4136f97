// Compares the bytes of stored files with their digests, starting with the files whose last comparison is oldest.
import { sql } from 'kysely'
import type { Area } from '../../store/files/pool.ts'
import { suspectOf, type Inspection, type Suspect } from './inspection.ts'
import { oldestVerified, type Need } from './needs.ts'
import { placesOf } from './places.ts'
import type { StoredBytesDeps } from './stored-bytes.ts'

/** A scan reads at least this much, so all of a small pool is compared every day. */
const LEAST_BYTES = 1024 ** 3
/** A daily scan reads this fraction of the pool, so each file is compared every 20 days; with ten days missed, every 30. */
const SHARE = 20
const BATCH = 50

/** The cursor is the number of bytes read so far, and the beginning of the scan in milliseconds since 1970. */
export function bitRot(deps: StoredBytesDeps, now: () => Date): Inspection {
  const { db } = deps
  const places = placesOf(deps)

  /** Also marks damaged files: they are findings then, which every scan confirms. */
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

  async function compare(need: Need, place: Area, signal: AbortSignal): Promise<Suspect | null> {
    const subject = places[place].subjectOf(need)
    // A wrong size is already a finding.
    if ((await places[place].sizeOf(subject)) !== need.size_bytes) return null
    const sha256 = await places[place].digest(subject, signal)
    if (sha256 === null || sha256 === need.sha256) return null
    return suspectOf(place, subject, 'wrong_content', '', { sha256: need.sha256 })
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
        // Only after the findings are stored: after an earlier crash these files are compared again.
        await noteVerified(needs)
      }
    },
  }
}
