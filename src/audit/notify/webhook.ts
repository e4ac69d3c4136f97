// The webhook channel: one signed POST per event (docs/api-decisions.md, section 19).
import { randomUUID } from 'node:crypto'
import { appPage } from '../../domain/app-page.ts'
import type { Settings } from '../../domain/settings.ts'
import { isoTime, type Clock } from '../../kernel/clock.ts'
import { hmacSha256Hex } from '../../kernel/crypto.ts'
import type { HttpClient } from '../../kernel/http-client.ts'
import { HttpError } from '../../kernel/http-error.ts'
import type { Db } from '../../store/db.ts'
import { eventOf, messageOf, type Message } from './events.ts'
import type { Channel } from './outbox.ts'
import { payloadOf } from './payloads.ts'
import { checksOf } from './record-checks.ts'

const TIMEOUT_MS = 5_000

export interface Webhook {
  channel: Channel
  /** Posts the event `TEST` once, even when events are switched off. @throws HttpError when it does not arrive */
  test(by: string): Promise<{ http_status: number }>
}

/**
 * @param http must refuse private addresses except those the operator allows
 * @param secret signs each message; without it they are unsigned
 * @param httpsOnly in production
 */
export function createWebhook(deps: {
  db: Db
  clock: Clock
  http: Pick<HttpClient, 'post'>
  settings(): Settings
  secret: string | null
  httpsOnly: boolean
}): Webhook {
  async function post(message: Message): Promise<number> {
    const { webhook_url: url, webhook_format: format } = deps.settings().notifications
    if (deps.httpsOnly && !/^https:/i.test(url))
      throw new HttpError('forbidden_target', 'the webhook address is not https')
    const body = JSON.stringify(payloadOf(message, format))
    const signature: Record<string, string> = deps.secret
      ? { 'x-svc-signature-256': `sha256=${hmacSha256Hex(deps.secret, body)}` }
      : {}
    return deps.http.post(
      url,
      body,
      { 'content-type': 'application/json', 'x-svc-event': message.event, 'x-svc-delivery': message.id, ...signature },
      TIMEOUT_MS,
    )
  }

  return {
    channel: {
      name: 'webhook',
      id: 1,
      limitMs: TIMEOUT_MS,
      retryMs: [2_000, 10_000],
      isOn() {
        const { webhook_enabled: enabled, webhook_url: url } = deps.settings().notifications
        return enabled && url !== ''
      },
      async next(entries) {
        const { webhook_min_packages: minPackages } = deps.settings().notifications
        for (const entry of entries) {
          const event = eventOf(entry, await checksOf(deps.db, entry), minPackages)
          if (event !== null)
            return {
              upTo: entry.seq as number,
              async send() {
                await post(messageOf(entry, event, deps.settings().app_url))
              },
            }
        }
        return null
      },
    },
    async test(by) {
      const timestamp = isoTime(deps.clock.now())
      return {
        http_status: await post({
          text: `Gatehouse: a test, requested by ${by}`,
          event: 'TEST',
          id: `test-${randomUUID()}`,
          timestamp,
          url: appPage(deps.settings().app_url, '/'),
          data: { user: by },
        }),
      }
    },
  }
}
