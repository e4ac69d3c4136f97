// The checks of `GET /setup/preflight`: whether this deployment is ready to be set up.
import { roomAt } from '../kernel/disks.ts'
import { sql } from 'kysely'
import type { CheckResult, PreflightCheck } from './setup.ts'
import type { Env } from '../config/env.ts'
import type { AntivirusStatus } from '../gate/engines/scanner.ts'
import type { Db } from '../store/db.ts'
import type { Paths } from '../store/paths.ts'

const LEAST_FREE_GB = 5

export function createPreflight(deps: {
  db: Db
  paths: Paths
  env: Env
  antivirus(): Promise<AntivirusStatus>
  vulnscan(): Promise<{ ok: boolean; version: string | null }>
}): Record<PreflightCheck, () => Promise<CheckResult>> {
  const { db, paths, env } = deps
  return {
    async database() {
      await sql`select 1`.execute(db)
      return {
        ok: true,
        detail: env.databaseUrl.startsWith('pglite:')
          ? 'embedded: one process, not safe against power loss'
          : 'PostgreSQL',
      }
    },
    async disk_space() {
      const { freeBytes } = await roomAt(paths.root)
      const free = Math.floor(freeBytes / 1024 ** 3)
      return { ok: free >= LEAST_FREE_GB, detail: `${free} GB free` }
    },
    async antivirus() {
      const status = await deps.antivirus()
      return {
        ok: status.available,
        detail: status.available ? `${status.engine} ${status.version}` : (status.error ?? 'not available'),
      }
    },
    async vulnscan() {
      const status = await deps.vulnscan()
      return { ok: status.ok, detail: status.ok ? `version ${status.version}` : 'no advisory data' }
    },
    async secrets() {
      const weak = env.jwtSecretKey.length < 32
      return {
        ok: !weak && env.webhookSecret !== null,
        detail: weak ? 'JWT_SECRET_KEY is short' : env.webhookSecret === null ? 'WEBHOOK_SECRET is not set' : 'set',
      }
    },
    async tls() {
      const secure = env.corsOrigins.every((origin) => origin.startsWith('https:'))
      return {
        ok: secure,
        detail: secure
          ? 'the console is reached over https'
          : 'CORS_ORIGINS names an address without TLS; put a TLS proxy in front',
      }
    },
  }
}
