// Which program a user agent belongs to.

/** Tried in this order: libraries and proxies add the names of others after their own. */
const TYPES = [
  ['apt', /^(?:Debian|Ubuntu) APT|\bapt(?:-http|-get|itude)?\//i],
  ['zypper', /\bzypp\b/i],
  ['dnf', /\b(?:lib)?dnf5?\b|\byum\b|\bmicrodnf\b|\blibrepo\b|\burlgrabber\b/i],
  // apk-tools 2.14 and 3.0 name only the library (net/libfetch); FreeBSD's fetch puts its own name before it.
  ['apk', /\bapk-tools\b|^apk\b|^libfetch\//i],
  // pnpm and yarn 1 name `npm/?` after themselves. Yarn 4 sends the agent of its library, got, so it is one of the others.
  ['pnpm', /^pnpm\//],
  ['yarn', /^yarn\//],
  ['bun', /^bun\//i],
  ['npm', /^npm\//],
  ['uv', /^uv\//],
  ['poetry', /^poetry\//i],
  ['pip', /^pip\//],
  ['wget', /^wget/i],
  ['curl', /^(?:lib)?curl/i],
] as const

export const CLIENT_TYPES = [...TYPES.map(([type]) => type), 'other'] as const
export type ClientType = (typeof CLIENT_TYPES)[number]

export function clientTypeOf(agent: string): ClientType {
  return TYPES.find(([, pattern]) => pattern.test(agent))?.[0] ?? 'other'
}
