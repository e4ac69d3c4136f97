// Outbound notifications: webhook and mail channels, tests that an admin requests, password reset mails.
import { appPage } from '../../domain/app-page.ts'
import { randomUUID } from 'node:crypto'
import type { ConnectionOptions } from 'node:tls'
import { invalidField } from '../../domain/problem.ts'
import type { Settings } from '../../domain/settings.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { HttpClient } from '../../kernel/http-client.ts'
import { HttpError } from '../../kernel/http-error.ts'
import type { Log } from '../../kernel/log.ts'
import type { Db } from '../../store/db.ts'
import { resetLetter, testLetter } from './letters.ts'
import { createMailChannel } from './mail-channel.ts'
import { createMailer, MailError, recipientsOf } from './mail.ts'
import { createOutbox, type Outbox } from './outbox.ts'
import { createWebhook } from './webhook.ts'

export interface TestResult {
  status: 'ok' | 'error'
  /** status of the receiver, if it answered */
  http_status?: number
  message: string
}

export interface Notifier {
  /** one per channel, so that a slow receiver delays no other channel */
  outboxes: readonly Outbox[]
  /** Both tests send one message at once, even if disabled. @throws Problem('validation_error') naming the missing setting */
  testWebhook(by: string): Promise<TestResult>
  testMail(by: string): Promise<TestResult>
  /** Mails the link to set a new password. Never throws: failures are logged, without the token. @param minutes how long the link is valid */
  sendReset(user: { username: string; email: string }, token: string, minutes: number): Promise<void>
}

/**
 * @param http must refuse private addresses except those the operator allows
 * @param secret signs webhook messages; without it they are unsigned
 * @param httpsOnly in production
 * @param tls certificates trusted in addition to the system's, for tests
 */
export function createNotifier(deps: {
  db: Db
  clock: Clock
  log: Log
  http: Pick<HttpClient, 'post'>
  settings(): Settings
  secret: string | null
  httpsOnly: boolean
  /** the mail server may have a loopback or private address; otherwise only if `allowedHosts` names it */
  allowPrivate: boolean
  allowedHosts: readonly string[]
  tls?: ConnectionOptions
}): Notifier {
  const { clock, log } = deps
  const mailer = createMailer(deps)
  const webhook = createWebhook(deps)
  const channels = [webhook.channel, createMailChannel({ ...deps, mailer })]

  return {
    outboxes: channels.map((channel) => createOutbox({ ...deps, channel })),

    async testWebhook(by) {
      if (deps.settings().notifications.webhook_url === '')
        throw invalidField('notifications.webhook_url', 'is not set')
      try {
        const { http_status } = await webhook.test(by)
        return { status: 'ok', http_status, message: `the receiver answered ${http_status}` }
      } catch (error) {
        if (!(error instanceof HttpError)) throw error
        return { status: 'error', ...(error.status ? { http_status: error.status } : {}), message: error.message }
      }
    },

    async testMail(by) {
      const { smtp_host: host, smtp_port: port, to_addresses } = deps.settings().email
      const to = recipientsOf(to_addresses)
      const lacks = mailer.lacks() ?? (to.length === 0 ? 'email.to_addresses' : null)
      if (lacks) throw invalidField(lacks, 'is not set')
      try {
        const { refused } = await mailer.send({
          ...testLetter(by, clock.now(), deps.settings().app_url),
          id: `test-${randomUUID()}`,
          to,
          event: 'TEST',
        })
        if (refused.length > 0)
          return { status: 'error', message: `${host}:${port} refused ${refused.join(', ')}; the others were taken` }
        return { status: 'ok', message: `${host}:${port} took the mail for ${to.join(', ')}` }
      } catch (error) {
        if (!(error instanceof MailError)) throw error
        log.warn({ err: error }, 'the test mail was not sent')
        return { status: 'error', message: error.shown }
      }
    },

    async sendReset({ username, email }, token, minutes) {
      const { email: set, app_url } = deps.settings()
      if (!set.enabled) {
        log.warn({ user: username }, 'a password reset was requested, but mail is disabled')
        return
      }
      const link = appPage(app_url, `/reset-password?token=${encodeURIComponent(token)}`)
      try {
        await mailer.send({
          ...resetLetter(username, link, minutes),
          id: `reset-${randomUUID()}`,
          to: [email],
          event: 'PASSWORD_RESET',
        })
        log.info({ user: username }, 'the link to set a new password was mailed')
      } catch (error) {
        log.error({ err: error, user: username }, 'the link to set a new password could not be mailed')
      }
    },
  }
}
