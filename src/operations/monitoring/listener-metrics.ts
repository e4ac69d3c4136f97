// Metrics of the processes that serve repositories, requested at each scrape. These processes have no port for metrics.
import { Counter, Gauge, type Registry } from 'prom-client'
import { createShared } from '../../kernel/shared.ts'
import type { KnownListener, ListenerReport, PortReport } from '../../domain/listener-report.ts'

export interface ListenerSources {
  listeners(): Promise<readonly KnownListener[]>
}

type Labels = Record<string, string>
type Add = (labels: Labels, value: number) => void

/** A listener that does not answer has only `svc_listener_up` 0 and its restarts. */
export function addListenerMetrics(registry: Registry, sources: ListenerSources): void {
  // All metrics share one request.
  const listeners = createShared(sources.listeners)
  const metric = (
    kind: typeof Counter | typeof Gauge,
    name: string,
    help: string,
    labels: string[],
    collect: (listener: KnownListener, add: Add) => void,
  ) => {
    const made: Counter | Gauge = new kind({
      ...{ name: `svc_listener_${name}`, help, labelNames: ['listener', ...labels], registers: [registry] },
      async collect() {
        made.reset()
        for (const known of await listeners())
          collect(known, (more, value) => made.inc({ listener: String(known.number), ...more }, value))
      },
    })
  }
  const reported = (
    name: string,
    help: string,
    labels: string[],
    collect: (report: ListenerReport, add: Add) => void,
  ) => metric(Gauge, name, help, labels, ({ report }, add) => report && collect(report, add))
  const ofPort = (
    kind: typeof Counter | typeof Gauge,
    name: string,
    help: string,
    labels: string[],
    collect: (report: PortReport, add: Add) => void,
  ) =>
    metric(kind, name, help, ['port', ...labels], ({ report }, add) => {
      for (const [port, of] of Object.entries(report?.ports ?? {}))
        collect(of, (more, value) => add({ port, ...more }, value))
    })

  metric(Gauge, 'up', '1 when a process that serves repositories answers its parent', [], ({ report }, add) =>
    add({}, Number(report !== null)),
  )
  metric(
    Counter,
    'restarts_total',
    'Times it ended by itself and was started again, since the start of its parent',
    [],
    ({ restarts }, add) => add({}, restarts),
  )
  ofPort(Counter, 'requests_total', 'Requests of package clients, by class of status', ['status'], (port, add) => {
    for (const [status, count] of Object.entries(port.requests)) add({ status }, count)
  })
  ofPort(Counter, 'sent_bytes_total', 'Bytes of bodies sent to package clients', [], (port, add) =>
    add({}, port.sentBytes),
  )
  ofPort(Gauge, 'transfers', 'Requests that are being answered now', [], (port, add) => add({}, port.transfers))
  ofPort(
    Counter,
    'refused_total',
    'Requests refused because of a limit: too slow, too long, too many on a connection, no file descriptors',
    [],
    (port, add) => add({}, port.refused),
  )
  reported('eventloop_lag_seconds', 'Longest time its event loop was held since the last scrape', [], (it, add) =>
    add({}, it.loopLagSeconds),
  )
  reported('uptime_seconds', 'Time since its start', [], (it, add) => add({}, it.uptimeSeconds))
  reported('memory_bytes', 'Its memory: resident, used of the heap, and size of the heap', ['kind'], (it, add) => {
    for (const [kind, bytes] of Object.entries(it.memory)) add({ kind }, bytes)
  })
  reported('open_fds', 'Its open file descriptors', [], ({ openFiles }, add) => {
    if (openFiles !== null) add({}, openFiles)
  })
}
