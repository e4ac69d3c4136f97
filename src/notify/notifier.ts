// Tells the outside of what the audit chain says, in its order and at least once: the chain is the outbox, so nothing that
// was committed is forgotten, whatever process dies.
import type { Selectable } from 'kysely'
import type { Settings } from '../domain/settings.ts'
import type { Clock } from '../kernel/clock.ts'
import { hmacSha256Hex } from '../kernel/crypto.ts'
import type { HttpClient } from '../kernel/http-client.ts'
import type { Log } from '../kernel/log.ts'
import type { Db } from '../store/db.ts'
import type { AuditTable } from '../store/tables.ts'
import { eventOf, messageOf, type Message } from './events.ts'

export interface Notifier {
  /** Delivers what is due; one caller at a time. @returns how many messages arrived */
  deliver(): Promise<number>
}

const TRIES = 3
const TIMEOUT_MS = 5_000
const RETRY_MS = [2_000, 10_000]
const BATCH = 100

/**
 * @param http must refuse addresses of the own network but those the operator allows
 * @param secret signs each message; without one they go unsigned
 * @param httpsOnly in production
 */
export function createNotifier(parts: { db: Db; clock: Clock; log: Log; http: Pick<HttpClient, 'post'>; settings(): Settings; secret: string | null; httpsOnly: boolean }): Notifier {
  const { db, clock, log } = parts

  async function cursor() {
    const known = await db.selectFrom('notify_cursor').selectAll().where('id', '=', 1).executeTakeFirst()
    if (known) return known
    // From now on: what happened before anybody listened is in the log.
    const { seq } = await db.selectFrom('audit_chain').select('seq').executeTakeFirst() ?? { seq: 0 }
    await db.insertInto('notify_cursor').values({ id: 1, seq, tries: 0, retry_at: null }).onConflict((c) => c.doNothing()).execute()
    return { id: 1, seq, tries: 0, retry_at: null }
  }
  const move = (set: { seq?: number; tries: number; retry_at: Date | null }) => db.updateTable('notify_cursor').set(set).where('id', '=', 1).execute()

  async function post(message: Message, url: string): Promise<void> {
    if (parts.httpsOnly && !url.startsWith('https:')) throw new Error('the webhook address is not https')
    const body = JSON.stringify(message)
    const signature: Record<string, string> = parts.secret ? { 'x-svc-signature-256': `sha256=${hmacSha256Hex(parts.secret, body)}` } : {}
    await parts.http.post(url, body, { 'content-type': 'application/json', 'x-svc-event': message.event, 'x-svc-delivery': message.id, ...signature }, TIMEOUT_MS)
  }

  async function tell(entry: Selectable<AuditTable>, url: string): Promise<boolean> {
    const event = eventOf(entry, await pipelineOf(db, entry))
    if (event === null) return false
    await post(messageOf(entry, event), url)
    return true
  }

  return {
    async deliver() {
      const { webhook_enabled: enabled, webhook_url: url } = parts.settings().notifications
      const at = await cursor()
      if (!enabled || url === '') {
        // Nobody listens, and nobody wants to hear of it all when he does.
        const { seq } = (await db.selectFrom('audit_chain').select('seq').executeTakeFirst()) ?? at
        if (seq > at.seq) await move({ seq, tries: 0, retry_at: null })
        return 0
      }
      if (at.retry_at && at.retry_at > clock.now()) return 0
      const entries = await db.selectFrom('audit').selectAll().where('seq', '>', at.seq).orderBy('seq').limit(BATCH).execute()
      let arrived = 0
      let { tries } = at
      for (const entry of entries) {
        try {
          if (await tell(entry, url)) arrived++
        } catch (error) {
          tries++
          if (tries < TRIES) {
            await move({ tries, retry_at: new Date(clock.now().getTime() + (RETRY_MS[tries - 1] ?? 0)) })
            return arrived
          }
          // The entry itself stands in the log; the next one may arrive.
          log.error({ err: error, audit_seq: entry.seq }, 'a notification could not be delivered')
        }
        tries = 0
        await move({ seq: entry.seq as number, tries: 0, retry_at: null })
      }
      return arrived
    },
  }
}

async function pipelineOf(db: Db, { distribution, package: name, version, arch }: Selectable<AuditTable>): Promise<Readonly<Record<string, string>> | null> {
  if (distribution === null || name === null || version === null || arch === null) return null
  const row = await db.selectFrom('packages').select('pipeline').where('distribution', '=', distribution).where('name', '=', name).where('version', '=', version).where('arch', '=', arch).executeTakeFirst()
  return row?.pipeline ?? null
}
