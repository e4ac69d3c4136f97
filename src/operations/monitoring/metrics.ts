// The Prometheus metrics of the specification. Gauges are read from counters at each scrape, never by a table scan.
import { collectDefaultMetrics, Counter, Histogram, Registry } from 'prom-client'
import { SEVERITY_KEYS, type SeverityKey } from '../../domain/finding.ts'
import { inTime } from '../../kernel/in-time.ts'
import { DatabaseAway } from '../../store/database-away.ts'
import { addListenerMetrics, type ListenerSources } from './listener-metrics.ts'
import { addPackageMetrics, type PackageSources } from './package-metrics.ts'
import { addStateMetrics, type StateSources } from './state-metrics.ts'

export interface Metrics {
  /** text format 0.0.4 */
  render(): Promise<string>
  observeRequest(request: { method: string; path: string; status: number; seconds: number }): void
  observePublish(seconds: number): void
  countUpload(status: string): void
  countFindings(counts: Partial<Record<SeverityKey, number>>): void
}

/** Read at each scrape; null means unknown and gives no sample. */
export interface MetricSources extends StateSources, ListenerSources, PackageSources {
  /** all that were ever counted */
  downloads(): Promise<readonly { format: string; downloads: number }[]>
  /** errors that nothing caught, by what failed */
  uncaught(): Readonly<Record<string, number>> | null
  /** by the role of the process */
  restarts(): Readonly<Record<string, number>> | null
  onError(error: unknown): void
}

export function createMetrics(sources: MetricSources): Metrics {
  const registry = new Registry()
  const registers = [registry]
  const uploads = new Counter({
    name: 'svc_uploads_total',
    help: 'Packages that arrived by upload or import, by resulting status; error for those refused',
    labelNames: ['status'],
    registers,
  })
  new Counter({
    name: 'svc_downloads_total',
    help: 'Package downloads counted from the access logs, by format',
    labelNames: ['format'],
    registers,
    async collect() {
      const counted = await sources.downloads()
      this.reset()
      for (const { format, downloads } of counted) this.inc({ format }, downloads)
    },
  })
  const counted = (name: string, help: string, label: string, ask: () => Readonly<Record<string, number>> | null) =>
    new Counter({
      ...{ name, help, labelNames: [label], registers },
      collect() {
        this.reset()
        for (const [value, count] of Object.entries(ask() ?? {})) this.inc({ [label]: value }, count)
      },
    })
  counted(
    'svc_uncaught_exceptions_total',
    'Errors that nothing caught in the process of the API, by what failed; after process it ends in order',
    'failed',
    sources.uncaught,
  )
  counted(
    'svc_process_restarts_total',
    'Processes that ended by themselves and were started again, since the start of their parent',
    'process',
    sources.restarts,
  )
  const findings = new Counter({
    name: 'svc_cve_findings_total',
    help: 'Findings of packages when they arrive, by severity',
    labelNames: ['severity'],
    registers,
  })
  const requests = new Counter({
    name: 'http_requests_total',
    help: 'API requests',
    labelNames: ['method', 'path', 'status'],
    registers,
  })
  const duration = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'API request latency',
    labelNames: ['method', 'path'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120],
    registers,
  })
  for (const status of ['published', 'pending_review', 'quarantined', 'rejected', 'error']) uploads.inc({ status }, 0)
  for (const severity of SEVERITY_KEYS) findings.inc({ severity }, 0)

  const publishing = new Histogram({
    name: 'svc_publish_duration_seconds',
    help: 'Time from the beginning of a publish to the exchange of the trees',
    buckets: [0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120],
    registers,
  })
  addPackageMetrics(registry, sources)
  addStateMetrics(registry, sources)
  addListenerMetrics(registry, sources)
  // Memory, processor time, descriptors, event loop and garbage collection of this process.
  collectDefaultMetrics({ register: registry })
  guardCollectors(registry, sources.onError)

  return {
    render: () => registry.metrics(),
    observePublish: (seconds) => publishing.observe(seconds),
    observeRequest({ method, path, status, seconds }) {
      requests.inc({ method, path, status: String(status) })
      duration.observe({ method, path }, seconds)
    },
    countUpload: (status) => uploads.inc({ status }),
    countFindings(counts) {
      for (const [severity, count] of Object.entries(counts)) if (count) findings.inc({ severity }, count)
    },
  }
}

/** A scrape of Prometheus takes at most 10 s by default. */
const COLLECT_MS = 4_000

interface Collecting {
  collect?: () => void | Promise<void>
  reset(): void
  remove?: () => void
  labelNames?: readonly string[]
}

/** A value that cannot be read in time has no sample: the other metrics show the cause. */
function guardCollectors(registry: Registry, onError: (error: unknown) => void): void {
  for (const metric of registry.getMetricsAsArray() as unknown as Collecting[]) {
    const { collect } = metric
    if (!collect) continue
    metric.collect = async () => {
      try {
        await inTime(async () => collect.call(metric), COLLECT_MS)
      } catch (error) {
        metric.reset()
        // Without labels it would now be 0, which looks like a measured value.
        if ((metric.labelNames ?? []).length === 0) metric.remove?.()
        if (!(error instanceof DatabaseAway)) onError(error)
      }
    }
  }
}
