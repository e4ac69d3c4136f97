// /security/antivirus, its alias and /security/vulnscan: the state of the engines, and updating what they know.
import Type from 'typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Problem } from '../domain/problem.ts'
import type { Log } from '../kernel/log.ts'
import type { Freshclam } from '../scanners/clamav/freshclam.ts'
import { silentStatus, type AntivirusStatus, type EngineStatus, type UpdateOutcome } from '../scanners/scanner.ts'
import type { AuditLog } from '../store/audit-log.ts'
import { problemOf } from './problems.ts'
import { route, type Route } from './route.ts'
import { Nullable } from './schemas.ts'
import { actorOf } from './security-schemas.ts'
import { errorEvent, openStream } from './sse.ts'

export interface Engine {
  status(): Promise<EngineStatus>
  /** null: there is nothing that could be updated */
  update: ((progress: (line: string) => void) => Promise<UpdateOutcome>) | null
}

export interface EngineParts {
  antivirus: () => Promise<AntivirusStatus>
  /** null where no antivirus engine is configured */
  freshclam: Freshclam | null
  /** null where none is wired */
  vulnscan: Engine | null
  feeds: Engine | null
  audit: AuditLog
  log: Log
}

const Text = Nullable(Type.String())
const Status = Type.Object({
  available: Type.Boolean(),
  engine: Text,
  version: Text,
  db_version: Text,
  db_date: Text,
  db_updated_at: Text,
  db_files: Type.Array(Type.String()),
  daemon_running: Type.Boolean(),
  cooldown_until: Text,
})
const Updated = Type.Object({
  status: Type.Enum(['updated', 'up_to_date', 'failed', 'cooldown']),
  db_version: Text,
  db_date: Text,
  message: Type.String(),
})

export function securityEngineRoutes(parts: EngineParts): Route[] {
  const { freshclam, vulnscan, feeds } = parts
  const antivirus: Engine = {
    async status() {
      const status = await parts.antivirus()
      return { ...status, cooldown_until: status.cooldown_until ?? freshclam?.cooldownUntil() ?? null }
    },
    update: freshclam ? (progress) => freshclam.update(progress) : null,
  }
  const none = (error: string): Engine => ({ status: async () => silentStatus(null, error), update: null })
  const places: [path: string, what: string, engine: Engine, action: string, verb: string, hidden: boolean][] = [
    ['/security/antivirus', 'malware scanner', antivirus, 'ANTIVIRUS_UPDATE', 'update', false],
    ['/security/clamav', 'malware scanner', antivirus, 'ANTIVIRUS_UPDATE', 'update', true],
    [
      '/security/vulnscan',
      'vulnerability scanner',
      vulnscan ?? none('no vulnerability scanner is part of this deployment'),
      'VULNSCAN_UPDATE',
      'update',
      false,
    ],
    [
      '/security/vulnscan/feeds',
      'scores and known-exploited catalogue',
      feeds ?? none('no feeds are part of this deployment'),
      'FEEDS_REFRESH',
      'refresh',
      false,
    ],
    [
      '/security/feeds',
      'scores and known-exploited catalogue',
      feeds ?? none('no feeds are part of this deployment'),
      'FEEDS_REFRESH',
      'refresh',
      true,
    ],
  ]
  return places.flatMap(([path, what, engine, action, verb, hidden]) => [
    route({
      method: 'GET',
      path: `${path}/status`,
      tag: 'security',
      summary: `State of the ${what} and of what it knows`,
      access: 'maintainer+',
      ...(hidden ? { flags: { hidden } } : {}),
      answer: Status,
      problems: [],
      handle: () => engine.status(),
    }),
    route({
      method: 'POST',
      path: `${path}/${verb}`,
      tag: 'security',
      summary: `Bring what the ${what} knows up to date; a stream with Accept: text/event-stream`,
      access: 'admin',
      ...(hidden ? { flags: { hidden } } : {}),
      answer: Updated,
      problems: ['already_running', 'scanner_unavailable'],
      async handle(call) {
        const { update } = engine
        if (!update)
          throw new Problem('scanner_unavailable', `there is no ${what} to update`, {}, { retryAfterSeconds: 3600 })
        const actor = actorOf(call)
        const run = async (progress: (line: string) => void) => {
          const before = (await engine.status()).db_version
          const outcome = await update(progress)
          const { db_version, db_date } = await engine.status()
          await parts.audit.record({
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
        return wantsStream(call.raw) ? stream(call.reply, call.raw, parts.log, run) : run(() => {})
      },
    }),
  ])
}

function wantsStream(request: FastifyRequest): boolean {
  return (request.headers.accept ?? '').includes('text/event-stream')
}

/** Events `progress`, one `result`, then `data: done`. What fails before the first line keeps its HTTP status. */
async function stream(
  reply: FastifyReply,
  request: FastifyRequest,
  log: Log,
  run: (progress: (line: string) => void) => Promise<unknown>,
): Promise<undefined> {
  let events: ReturnType<typeof openStream> | null = null
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
