// /security/antivirus, its alias and /security/vulnscan: the state of the scan engines and the update of their data.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Problem } from '../../domain/problem.ts'
import type { Log } from '../../kernel/log.ts'
import type { Freshclam } from '../../gate/engines/clamav/freshclam.ts'
import type { Actor } from '../../review/deps.ts'
import {
  silentStatus,
  type AntivirusStatus,
  type EngineStatus,
  type UpdateOutcome,
} from '../../gate/engines/scanner.ts'
import type { AuditLog } from '../../audit/log.ts'
import { problemOf } from '../http/problems.ts'
import { handle, type Route } from '../http/route.ts'
import * as contract from './engines.contract.ts'
import { actorOf } from './schemas.ts'
import { errorEvent, openStream } from '../http/sse.ts'

export interface Engine {
  status(): Promise<EngineStatus>
  /** null when the engine has no data to update */
  update: ((progress: (line: string) => void, actor: Actor) => Promise<UpdateOutcome>) | null
}

export interface EngineDeps {
  antivirus: () => Promise<AntivirusStatus>
  /** null when no antivirus engine is configured */
  freshclam: Freshclam | null
  /** null when no vulnerability scanner is configured */
  vulnscan: Engine | null
  feeds: Engine | null
  audit: AuditLog
  log: Log
}

export function securityEngineRoutes(deps: EngineDeps): Route[] {
  const { freshclam } = deps
  const scanner: Engine = {
    async status() {
      const status = await deps.antivirus()
      return { ...status, cooldown_until: status.cooldown_until ?? freshclam?.cooldownUntil() ?? null }
    },
    update: freshclam ? (progress) => freshclam.update(progress) : null,
  }
  const none = (error: string): Engine => ({ status: async () => silentStatus(null, error), update: null })
  const advisories = deps.vulnscan ?? none('this deployment has no vulnerability scanner')
  const lists = deps.feeds ?? none('this deployment has no feeds')
  const places: [declared: typeof contract.antivirus, engine: Engine, action: string][] = [
    [contract.antivirus, scanner, 'ANTIVIRUS_UPDATE'],
    [contract.clamav, scanner, 'ANTIVIRUS_UPDATE'],
    [contract.vulnscan, advisories, 'VULNSCAN_UPDATE'],
    [contract.vulnscanFeeds, lists, 'FEEDS_REFRESH'],
    [contract.feeds, lists, 'FEEDS_REFRESH'],
  ]
  return places.flatMap(([declared, engine, action]) => [
    handle(declared.status, () => engine.status()),
    handle(declared.update, async (call) => {
      const { update } = engine
      if (!update)
        throw new Problem(
          'scanner_unavailable',
          `there is no ${declared.what} to update`,
          {},
          { retryAfterSeconds: 3600 },
        )
      const actor = actorOf(call)
      const run = async (progress: (line: string) => void) => {
        const before = (await engine.status()).db_version
        const outcome = await update(progress, actor)
        const { db_version, db_date } = await engine.status()
        await deps.audit.record({
          action,
          result: outcome.status === 'failed' ? 'FAILURE' : outcome.status === 'cooldown' ? 'WARNING' : 'SUCCESS',
          user: actor.name,
          outcome: outcome.status,
          detail: outcome.message,
          ip: actor.origin.ip,
          requestId: actor.origin.requestId,
          extra: { before, after: db_version },
        })
        return { ...outcome, db_version, db_date }
      }
      return wantsStream(call.raw) ? stream(call.reply, call.raw, deps.log, run) : run(() => {})
    }),
  ])
}

function wantsStream(request: FastifyRequest): boolean {
  return (request.headers.accept ?? '').includes('text/event-stream')
}

/** Sends `progress` events, one `result`, then `data: done`. A failure before the first line keeps its HTTP status. */
async function stream(
  reply: FastifyReply,
  request: FastifyRequest,
  log: Log,
  run: (progress: (line: string) => void) => Promise<unknown>,
): Promise<undefined> {
  let events = null as ReturnType<typeof openStream> | null
  const open = () => (events ??= openStream(reply, { heartbeat: true }))
  try {
    const result = await run((message) => open().send({ message }, 'progress'))
    open().send(result, 'result')
  } catch (error) {
    if (!events) throw error
    const { problem, isBug } = problemOf(error, request.id)
    if (isBug) log.error({ request_id: request.id, err: error }, 'update failed')
    open().send(errorEvent(problem), 'result')
  }
  open().sendText('done')
  open().close()
  return undefined
}
