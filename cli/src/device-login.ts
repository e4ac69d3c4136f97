// Sign-in through the browser of any machine (RFC 8628): for people whose password an identity provider keeps.
import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import type { AnswerOf, Client } from 'gatehouse-client'
import { failureOf, need } from './failure.ts'
import { plain, type Terminal } from './terminal.ts'

/** More seconds between two requests after `slow_down` (RFC 8628, section 3.5). */
const SLOWER_SECONDS = 5

type Session = AnswerOf<'POST /auth/device/token'>

/** Shows the code, and asks until somebody has answered. @throws Failure when it was refused or is too late */
export async function deviceLogin(terminal: Terminal, client: Client, signal: AbortSignal): Promise<Session> {
  const body = { client: `gatehouse on ${hostname()}`.slice(0, 100) }
  const codes = need(await client.call('POST /auth/device', { body, signal }))
  // Not a note: with --quiet nobody could sign in.
  terminal.complain(
    `open ${plain(codes.verification_uri)} on any machine, and enter the code ${plain(codes.user_code)}`,
  )
  terminal.note(
    `or open ${plain(codes.verification_uri_complete)}; it waits ${Math.round(codes.expires_in / 60)} minutes`,
  )
  let seconds = codes.interval
  for (;;) {
    await sleep(seconds * 1000, undefined, { signal })
    const answer = await client.call('POST /auth/device/token', { body: { device_code: codes.device_code }, signal })
    if (answer.ok) return answer.data
    if (answer.error.code === 'slow_down') seconds += SLOWER_SECONDS
    else if (answer.error.code !== 'authorization_pending') throw failureOf(answer.error)
  }
}
