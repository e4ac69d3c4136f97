// The probes of GET /health in words: the API keeps the names that the specification gives them. Pure.
import { amount, bytes, sentence } from '../../parts/words.ts'

export type Check = { ok?: boolean; status?: string; detail?: string; message?: string; error?: string } & Record<
  string,
  unknown
>

interface Words {
  name: string
  /** what to do when it fails */
  advice?: string
}

const PROBES: Record<string, Words> = {
  manifests: { name: 'Manifests', advice: 'Manifests cannot be written. Look at REPOS_DIR and its disk.' },
  pool: {
    name: 'Package files',
    advice: 'The files of packages cannot be reached. Look at REPOS_DIR and its disk, or at the object store.',
  },
  auth_db: {
    name: 'Database: accounts',
    advice: 'The database does not answer. Look at DATABASE_URL and the log of the database.',
  },
  manifest_db: {
    name: 'Database: packages',
    advice: 'The database does not answer. Look at DATABASE_URL and the log of the database.',
  },
  disk: { name: 'Free space', advice: 'Free space, or lower retention.history_days and retention.keep_versions.' },
  clock: { name: 'Clock', advice: 'Set the clock of this machine by NTP: clients refuse indexes of the future.' },
  audit: { name: 'Audit log', advice: 'The audit log cannot be written. Look at REPOS_DIR and its disk.' },
  antivirus: {
    name: 'Malware scanner',
    advice: 'Uploads are not scanned for malware. Look at CLAMAV_HOST and the log of clamd.',
  },
  reprepro: { name: 'Publisher' },
  gpg: { name: 'Signing key' },
  scheduler: { name: 'Scheduled jobs', advice: 'A scheduled job failed. The log tells why.' },
  alembic: { name: 'Database: schema' },
  packages: { name: 'Packages' },
  storage: { name: 'Storage' },
  license: { name: 'License' },
  setup: { name: 'Set-up' },
  ha: { name: 'Replicas' },
  cache_backend: { name: 'Cache' },
  vulnscan: { name: 'Vulnerability data', advice: 'Vulnerability data is missing or old. Update it below.' },
  drift: {
    name: 'Drift',
    advice: 'Files differ from what was stored, or were not compared lately. The page Drift compares and repairs.',
  },
}

export const nameOf = (probe: string): string => PROBES[probe]?.name ?? sentence(probe)
export const adviceOf = (probe: string): string | undefined => PROBES[probe]?.advice

/** Probes report this in different ways; null for a probe that only informs. */
export function isGood({ ok, status }: Check): boolean | null {
  if (ok !== undefined) return ok
  if (status !== undefined) return ['ok', 'healthy', 'up', 'clean', 'connected', 'ready'].includes(status)
  return null
}

/** Keys that say what the line says already. */
const SAID = new Set(['ok', 'status', 'detail', 'message', 'error'])
const UNITS: readonly [suffix: RegExp, shown: (value: number) => string][] = [
  [/_gb$/, (value) => bytes(value * 1e9)],
  [/_mb$/, (value) => bytes(value * 1e6)],
  [/_pct$/, (value) => `${value.toFixed(0)} %`],
  [/_seconds$/, (value) => `${value} s`],
]

/** @returns "Free: 49 GB", "Used: 81 %", "Is leader: yes" */
export function factsOf(check: Check): string[] {
  return Object.entries(check).flatMap(([key, value]) => {
    if (SAID.has(key)) return []
    if (typeof value === 'boolean') return [`${sentence(key)}: ${value ? 'yes' : 'no'}`]
    if (typeof value === 'string') return [`${sentence(key)}: ${value}`]
    if (typeof value !== 'number') return []
    const [suffix, shown] = UNITS.find(([suffix]) => suffix.test(key)) ?? [/$/, amount]
    return [`${sentence(key.replace(suffix, ''))}: ${shown(value)}`]
  })
}
