// Alert rules and dashboard: accepted by promtool, and using only metrics and labels that the service has.
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createMetrics } from '../../src/operations/monitoring/metrics.ts'
import { createOwnReport } from '../../src/serve/own-report.ts'
import { need } from '../need.ts'

const DEPLOY = join(import.meta.dirname, '../../deploy')
const RULES = join(DEPLOY, 'prometheus/gatehouse.rules.yml')

/** Labels that Prometheus and its operators add. */
const FROM_PROMETHEUS = ['job', 'instance', 'le', 'alertstate', 'alertname']

let directory: string
/** the labels of each metric of the service */
let labelsOf: Map<string, Set<string>>

beforeAll(async () => {
  need('prometheus', 'python3-yaml')
  directory = mkdtempSync(join(tmpdir(), 'monitoring-'))
  labelsOf = labelsIn(await everyMetric())
})
afterAll(() => rmSync(directory, { recursive: true, force: true }))

/** The answer of /metrics once everything has happened. */
async function everyMetric(): Promise<string> {
  const served = createOwnReport()
  served.traffic('apt')
  const metrics = createMetrics({
    totals: () => Promise.resolve({ packages: 1, pendingReview: 1, quarantined: 1 }),
    antivirusUpdatedAt: () => Promise.resolve(1),
    advisoriesAgeSeconds: () => Promise.resolve(1),
    selfTests: () => [{ scanner: 'clamav', scope: 'deb', failed: true }],
    drift: () => Promise.resolve({ last_scan: 'now', age_seconds: 1, findings: [] } as never),
    downloads: () => Promise.resolve([{ format: 'deb', downloads: 1 }]),
    uncaught: () => ({ request: 0, task: 0, process: 0 }),
    restarts: () => ({ api: 0, listener: 0 }),
    listeners: async () => [{ number: 1, restarts: 0, report: await served.read() }],
    probes: async () => ({ critical: { pool: { ok: true } } }),
    room: async () => ({ pool: { freeBytes: 1, totalBytes: 2 } }),
    clockOffsetMs: () => 0,
    isLeader: () => true,
    lastRuns: async () => [{ job: 'sync', failed: false, succeededAt: new Date() }],
    lastBackupAt: () => Promise.resolve(1),
    isRedisUp: () => true,
    onError: (error) => {
      throw error
    },
  })
  metrics.observeRequest({ method: 'GET', path: '/', status: 200, seconds: 1 })
  return metrics.render()
}

function labelsIn(text: string): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>()
  for (const [, name = '', labels = ''] of text.matchAll(/^([a-z_]+)(?:\{(.*)\})? \S+$/gm)) {
    const known = found.get(name) ?? new Set()
    for (const [, label = ''] of labels.matchAll(/([a-z_]+)="/g)) known.add(label)
    found.set(name, known)
  }
  return found
}

const rules = () => {
  const { groups } = JSON.parse(
    execFileSync('python3', ['-c', 'import json,sys,yaml; json.dump(yaml.safe_load(sys.stdin), sys.stdout)'], {
      input: readFileSync(RULES),
      encoding: 'utf8',
    }),
  ) as { groups: { rules: { alert: string; expr: string }[] }[] }
  return groups.flatMap((group) => group.rules).map(({ alert, expr }) => ({ name: alert, expr }))
}

/** The expressions of the dashboard, with Grafana's variables replaced as Grafana does. */
const panels = () => {
  const { panels } = JSON.parse(readFileSync(join(DEPLOY, 'grafana/gatehouse.json'), 'utf8')) as {
    panels: { title: string; targets: { expr: string }[] }[]
  }
  return panels.flatMap(({ title, targets }) =>
    targets.map(({ expr }) => ({
      name: title,
      expr: expr.replaceAll('$__rate_interval', '5m').replaceAll('$job', 'gatehouse'),
    })),
  )
}

function promtool(...args: string[]): string {
  const { status, stdout, stderr } = spawnSync('promtool', args, { cwd: join(DEPLOY, 'prometheus'), encoding: 'utf8' })
  expect(status, stdout + stderr).toBe(0)
  return stdout + stderr
}

test('Prometheus accepts its configuration and the rules', () => {
  expect(promtool('check', 'config', 'prometheus.yml')).toContain('1 rule files found')
})

test('every alert fires when it should, and none in a healthy service', () => {
  promtool('test', 'rules', 'gatehouse.rules.test.yml')
  const tested = readFileSync(join(DEPLOY, 'prometheus/gatehouse.rules.test.yml'), 'utf8')
  const untested = rules().filter(({ name }) => !tested.includes(`{alertname="${name}"}`))
  expect(untested).toEqual([])
})

test('every expression of the dashboard is one', () => {
  const file = join(directory, 'panels.json')
  const recorded = panels().map(({ expr }, i) => ({ record: `panel:${i}`, expr }))
  // JSON is valid YAML.
  writeFileSync(file, JSON.stringify({ groups: [{ name: 'panels', rules: recorded }] }))
  expect(promtool('check', 'rules', file)).toContain(`${recorded.length} rules found`)
})

describe.each([
  ['rules', rules],
  ['dashboard', panels],
])('the %s', (_, expressions) => {
  test('name metrics that the service has', () => {
    const named = expressions().flatMap(({ expr }) => expr.match(/\b(?:svc|http|process|nodejs)_\w+/g) ?? [])
    expect(named.length).toBeGreaterThan(5)
    expect(named.filter((name) => !labelsOf.has(name))).toEqual([])
  })

  test('name labels that these metrics have', () => {
    const wrong = expressions().flatMap(({ name, expr }) => {
      const known = new Set(FROM_PROMETHEUS)
      for (const metric of expr.match(/\b(?:svc|http)_\w+/g) ?? [])
        for (const label of labelsOf.get(metric) ?? []) known.add(label)
      const selected = [...expr.matchAll(/(\w+)\s*(?:=~|!~|!=|=)\s*"/g)].map(([, label]) => label!)
      const grouped = [...expr.matchAll(/\bby\s*\(([^)]+)\)/g)].flatMap(([, list]) => list!.split(/\s*,\s*/))
      return [...selected, ...grouped].filter((label) => !known.has(label)).map((label) => `${name}: ${label}`)
    })
    expect(wrong).toEqual([])
  })
})
