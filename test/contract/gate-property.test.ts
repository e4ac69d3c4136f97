// Properties that hold for every order of decisions, scans and time: no held package is served before its approval, a
// rejected one can only be deleted, and a scan publishes only packages that wait for nothing but that scan.
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Severity } from '../../src/domain/finding.ts'
import type { Antivirus, AntivirusResult, CveResult, CveScanner } from '../../src/gate/engines/scanner.ts'
import { buildDeb } from '../samples/deb.ts'
import { startGate, type Gate } from './harness.ts'

const DAY_MS = 86_400_000
const coverage = {
  engine: 'fake',
  engine_version: '1',
  database_date: null,
  distro_matched: 'x',
  files_seen: 1,
  files_skipped: [],
  bytes: 1,
}

/** The scan results for the package under test. */
const world = { severities: [] as Severity[], infected: false, data: true }

const cveScanner: CveScanner = {
  name: 'fake',
  async scan({ facts }): Promise<CveResult> {
    const findings = world.severities.map((severity, i) => ({
      id: `CVE-2026-${1000 + i}`,
      severity,
      cvss: null,
      description: null,
      package_name: facts.name,
      package_version: facts.version,
      package_type: 'deb',
      fix_state: 'unknown' as const,
      fix_versions: [],
      urls: [],
      epss: null,
      epss_percent: null,
      epss_label: null,
      in_kev: false,
      sources: ['fake'],
    }))
    return world.data
      ? { result: 'scanned', findings, message: '', coverage }
      : { result: 'no_data', findings: [], message: '', coverage }
  },
}
const antivirus: Antivirus = {
  status: async () => ({
    available: true,
    engine: 'fake',
    version: '1',
    db_version: '1',
    db_date: null,
    db_updated_at: null,
    db_files: [],
    daemon_running: true,
    cooldown_until: null,
    error: null,
  }),
  scan: async (): Promise<AntivirusResult> => ({
    result: world.infected ? 'infected' : 'clean',
    signature: null,
    member: null,
    message: '',
    coverage,
  }),
}

type Event =
  | {
      do:
        | 'approve'
        | 'except'
        | 'reject'
        | 'upgrade'
        | 'quarantine'
        | 'rescan'
        | 'delete'
        | 'upload'
        | 'sla'
        | 'revoke'
        | 'reindex'
    }
  | { do: 'time'; days: number }
  | { do: 'world'; severities: Severity[]; infected: boolean; data: boolean }

const severities = fc.array(fc.constantFrom<Severity>('Critical', 'High', 'Medium', 'Low'), { maxLength: 3 })
const worlds = fc.record({ do: fc.constant('world' as const), severities, infected: fc.boolean(), data: fc.boolean() })
const events: fc.Arbitrary<Event> = fc.oneof(
  { weight: 2, arbitrary: fc.constant({ do: 'approve' as const }) },
  { weight: 3, arbitrary: fc.constant({ do: 'rescan' as const }) },
  { weight: 3, arbitrary: worlds },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('time' as const), days: fc.integer({ min: 1, max: 40 }) }) },
  ...(['except', 'reject', 'upgrade', 'quarantine', 'delete', 'upload', 'sla', 'revoke', 'reindex'] as const).map(
    (event) => ({ weight: 1, arbitrary: fc.constant({ do: event }) }),
  ),
)

interface Seen {
  status: string
  served: boolean
}

let gate: Gate
let number = 0
beforeAll(async () => {
  gate = await startGate({ overrides: { cveScanner, antivirus } })
  const { status } = await gate.call('PATCH', '/settings/', { body: { validation: { on_unscanned: 'hold' } } })
  expect(status).toBe(200)
})
afterAll(() => gate.close())

async function look(name: string): Promise<Seen | null> {
  const { status, body } = await gate.call<{ versions: Seen[] }>('GET', `/artifacts/${name}`)
  return status === 404 ? null : (body.versions[0] ?? null)
}

/** Whether a client of the repository sees the package and can download it. */
async function isOffered(name: string, codename = 'jammy'): Promise<boolean> {
  const packages = await (
    await fetch(`http://127.0.0.1:${gate.aptPort}/repos/dists/${codename}/main/binary-amd64/Packages`)
  ).text()
  const path = new RegExp(`Filename: (\\S*/${name}_\\S+)`).exec(packages)?.[1]
  if (!path) return false
  expect((await fetch(`http://127.0.0.1:${gate.aptPort}/repos/${path}`)).status).toBe(200)
  return true
}

/** Whether a rescan may publish it now: only a missing scan holds it, and no scan would hold it. */
async function mayBeJudged(name: string, before: Seen | null, codename = 'jammy'): Promise<boolean> {
  const passes = world.data && !world.infected && !world.severities.some((one) => one === 'Critical' || one === 'High')
  if (!passes || before?.status !== 'pending_review' || before.served) return false
  const path = `/security/packages/${name}/1.0-1/evidence?distribution=${codename}`
  const { body } = await gate.call<{ held: { reason: string } | null; decisions: { active: boolean }[] }>('GET', path)
  return body.held?.reason === 'unscanned' && !body.decisions.some(({ active }) => active)
}

async function happen(event: Event, name: string): Promise<{ status: number; body: unknown } | null> {
  const one = `/security/packages/${name}/1.0-1`
  const decide = (body: object) => gate.call('POST', `${one}/decide`, { body: { justification: 'because', ...body } })
  switch (event.do) {
    case 'world':
      Object.assign(world, { severities: event.severities, infected: event.infected, data: event.data })
      return null
    case 'time':
      gate.clock.advance(event.days * DAY_MS)
      gate.people.admin.session = await gate.login('admin-person')
      return null
    case 'approve':
      return decide({ decision: 'approve' })
    case 'except':
      return decide({ decision: 'approve', expires_in_days: 7 })
    case 'reject':
      return decide({ decision: 'reject' })
    case 'upgrade':
      return decide({ action: 'upgrade_required', target_version: '2.0-1' })
    case 'quarantine':
      return gate.call('POST', `${one}/quarantine`, { body: {} })
    case 'rescan':
      return gate.call('POST', `${one}/rescan`)
    case 'delete':
      return gate.call('DELETE', `/artifacts/${name}`)
    case 'upload':
      return gate.upload(await buildDeb({ name, version: '1.0-1' }), { distribution: 'jammy' })
    case 'sla':
      return gate.call('POST', '/security/check-sla')
    case 'reindex':
      return gate.call('POST', '/artifacts/admin/sync-index')
    case 'revoke': {
      const { body } = await gate.call<{ decisions: { id: number; package: string; active: boolean }[] }>(
        'GET',
        '/security/decisions',
      )
      const decision = body.decisions.find((one) => one.package === name && one.active)
      return decision ? gate.call('DELETE', `/security/decisions/${decision.id}`) : null
    }
  }
}

/** No order of requests may cause a server error. The leader's lease expires with the clock, for some seconds. */
function expectNoServerError({ status, body }: { status: number; body: unknown }, what: string): void {
  if (status === 503 && (body as { code?: string }).code === 'passive_replica') return
  expect(status, `${what}: ${JSON.stringify(body)} ${JSON.stringify(gate.errors.at(-1))}`).toBeLessThan(500)
}

test('no order of events serves a held package without an approval', async () => {
  await fc.assert(
    fc.asyncProperty(worlds, fc.array(events, { minLength: 3, maxLength: 14 }), async (first, sequence) => {
      const name = `subject-${number++}`
      await happen(first, name)
      let before: Seen | null = null
      /** it may be served: it passed the gate on upload, or a person approved it since */
      let allowed = false
      for (const event of [{ do: 'upload' } as Event, ...sequence]) {
        const judges: boolean = event.do === 'rescan' && (await mayBeJudged(name, before))
        const reply = await happen(event, name)
        if (reply) expectNoServerError(reply, event.do)
        const now = await look(name)
        const isJudged = judges && now?.status === 'published'
        const change = `${event.do}: ${before?.status ?? 'absent'} -> ${now?.status ?? 'absent'}`
        if (before === null && now !== null) {
          expect(event.do, change).toBe('upload')
          allowed = now.status === 'published'
        } else if (isJudged || ((event.do === 'approve' || event.do === 'except') && reply?.status === 200))
          allowed = true
        // An unpublished package needs another approval.
        if (now === null || now.status === 'quarantined' || now.status === 'rejected') allowed = false

        if (now?.served) expect(allowed, change).toBe(true)
        expect(await isOffered(name), change).toBe(now?.served ?? false)
        if (before?.status === 'rejected' && event.do !== 'delete') expect(now?.status, change).toBe('rejected')
        if (!isJudged && ['rescan', 'world', 'time', 'sla', 'revoke', 'reindex'].includes(event.do)) {
          expect(now?.served ?? false, change).toBe(before?.served ?? false)
          if (before?.status !== 'published') expect(now?.status, change).not.toBe('published')
        }
        if (now?.status === 'published') expect(now.served, change).toBe(true)
        before = now
      }
    }),
    {
      numRuns: Number(process.env['PROPERTY_RUNS'] ?? 8),
      ...(process.env['PROPERTY_SEED'] ? { seed: Number(process.env['PROPERTY_SEED']) } : {}),
    },
  )
})

const PAIR = ['jammy', 'noble'] as const
type Codename = (typeof PAIR)[number]
const MOVES = ['upload', 'promote', 'migrate', 'approve', 'reject', 'quarantine', 'delete', 'rescan'] as const
interface Move {
  do: (typeof MOVES)[number]
  /** where it happens; for a promotion and a migration, the source */
  at: Codename
}
const otherOf = (codename: Codename): Codename => (codename === 'jammy' ? 'noble' : 'jammy')

async function lookBoth(name: string): Promise<Record<Codename, Seen | null>> {
  const { status, body } = await gate.call<{ versions: (Seen & { distribution: string })[] }>(
    'GET',
    `/artifacts/${name}`,
  )
  const of = (codename: Codename) =>
    status === 404 ? null : (body.versions.find((one) => one.distribution === codename) ?? null)
  return { jammy: of('jammy'), noble: of('noble') }
}

async function move({ do: what, at }: Move, name: string): Promise<{ status: number; body: unknown }> {
  const one = `/security/packages/${name}/1.0-1`
  const decide = (decision: string) =>
    gate.call('POST', `${one}/decide?distribution=${at}`, { body: { justification: 'because', decision } })
  const pair = { from_dist: at, to_dist: otherOf(at) }
  switch (what) {
    case 'upload':
      return gate.upload(await buildDeb({ name, version: '1.0-1' }), { distribution: at })
    case 'promote':
      return gate.call('POST', '/distributions/promote', { body: { package: name, ...pair } })
    case 'migrate':
      return gate.call('POST', '/distributions/migrate', { body: pair })
    case 'approve':
    case 'reject':
      return decide(what)
    case 'quarantine':
      return gate.call('POST', `${one}/quarantine?distribution=${at}`, { body: {} })
    case 'rescan':
      return gate.call('POST', `${one}/rescan?distribution=${at}`)
    case 'delete':
      return gate.call('DELETE', `/artifacts/${name}?distribution=${at}`)
  }
}

test('no order of promotions and decisions serves what its source did not serve or nobody approved', async () => {
  const moves = fc.array(fc.oneof(fc.record({ do: fc.constantFrom(...MOVES), at: fc.constantFrom(...PAIR) }), worlds), {
    minLength: 4,
    maxLength: 14,
  })
  await fc.assert(
    fc.asyncProperty(worlds, moves, async (first, sequence) => {
      const name = `moved-${number++}`
      await happen(first, name)
      for (const event of [{ do: 'upload', at: 'jammy' } as const, ...sequence]) {
        const before = await lookBoth(name)
        if (event.do === 'world') {
          await happen(event, name)
          continue
        }
        const judges = event.do === 'rescan' && (await mayBeJudged(name, before[event.at], event.at))
        expectNoServerError(await move(event, name), event.do)
        const now = await lookBoth(name)
        for (const codename of PAIR) {
          const [was, is] = [before[codename], now[codename]]
          const change = `${event.do} at ${event.at}: ${codename} ${was?.status ?? 'absent'} -> ${is?.status ?? 'absent'}`
          expect(await isOffered(name, codename), change).toBe(is?.served ?? false)
          if (is?.served && !was?.served) {
            const isCopy = (event.do === 'promote' || event.do === 'migrate') && codename === otherOf(event.at)
            const isOwn = (event.do === 'upload' || event.do === 'approve' || judges) && codename === event.at
            expect(isOwn || isCopy, change).toBe(true)
            // A copy was served by its source, new in its target, and rejected nowhere.
            if (isCopy) {
              expect(before[event.at], change).toMatchObject({ status: 'published', served: true })
              expect(was, change).toBe(null)
            }
          }
          if (codename !== event.at && event.do !== 'promote' && event.do !== 'migrate')
            expect(is?.served ?? false, change).toBe(was?.served ?? false)
        }
      }
    }),
    {
      numRuns: Number(process.env['PROPERTY_RUNS'] ?? 6),
      ...(process.env['PROPERTY_SEED'] ? { seed: Number(process.env['PROPERTY_SEED']) } : {}),
    },
  )
})

test('exactly one of several concurrent decisions succeeds, and the others answer 409', async () => {
  Object.assign(world, { severities: ['High'], infected: false, data: true })
  for (let round = 0; round < 6; round++) {
    const name = `disputed-${round}`
    await happen({ do: 'upload' }, name)
    const replies = await Promise.all(
      (['approve', 'reject', 'quarantine', 'approve', 'reject'] as const).map((event) => happen({ do: event }, name)),
    )
    const won = replies.flatMap((reply, i) => (reply?.status === 200 ? [i] : []))
    const after = await look(name)
    // A quarantine may follow an approval, never a rejection. Two decisions are never active.
    const decisions = won.filter((i) => i !== 2)
    expect(decisions.length, JSON.stringify(replies.map((reply) => reply?.status))).toBeLessThanOrEqual(1)
    expect(won.length).toBeGreaterThan(0)
    expect(replies.filter((reply) => reply?.status !== 200).every((reply) => reply?.status === 409)).toBe(true)
    expect(await isOffered(name)).toBe(after?.status === 'published')
    if (won.includes(2)) expect(after?.status).toBe('quarantined')
    const { body } = await gate.call<{ decisions: { package: string; active: boolean; status: string }[] }>(
      'GET',
      '/security/decisions',
    )
    const active = body.decisions.filter((one) => one.package === name && one.active)
    expect(active.length).toBeLessThanOrEqual(1)
    if (after?.status === 'published') expect(active).toHaveLength(1)
  }
})
