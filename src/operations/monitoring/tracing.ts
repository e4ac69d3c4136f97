// OpenTelemetry: records the spans of kernel/trace and sends them to a collector by OTLP over HTTP. This is the only file that
// loads its packages, and it is loaded only when an address is configured. The packages read the standard OTEL_* variables.
import { AsyncLocalStorage } from 'node:async_hooks'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import {
  defaultTextMapGetter,
  defaultTextMapSetter,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Context,
  type Span as Recorded,
} from '@opentelemetry/api'
import { setGlobalErrorHandler, W3CTraceContextPropagator } from '@opentelemetry/core'
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources'
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base'
import type { Log } from '../../kernel/log.ts'
import { SPAN_BEGINS, SPAN_CONTINUES, SPAN_ENDS, SPAN_LEAVES, type Span } from '../../kernel/trace.ts'

export interface Tracing {
  /** Sends the remaining spans, for at most two seconds. */
  close(): Promise<void>
}

/** Closing waits no longer than this, because the collector may be down. */
const CLOSE_MS = 2_000
const COMPLAIN_EVERY_MS = 60_000

/** A sync has a hundred thousand statements. A trace with this many spans gets no more parts. */
export const MOST_PARTS = 1_000

const KINDS = { internal: SpanKind.INTERNAL, server: SpanKind.SERVER, client: SpanKind.CLIENT } as const

/** The place of running work: its span, and the number of spans below the first one of this process. */
interface CurrentSpan {
  context: Context
  first: { parts: number }
}

export function startTracing(deps: { version: string; protocol: 'http/protobuf' | 'http/json'; log: Log }): Tracing {
  let complainedAt = -Infinity
  setGlobalErrorHandler((error) => {
    if (performance.now() - complainedAt < COMPLAIN_EVERY_MS) return
    complainedAt = performance.now()
    deps.log.warn(
      { reason: reasonOf(error) },
      'the collector of traces does not take them; further failures are not logged for a minute',
    )
  })
  const exporter = deps.protocol === 'http/json' ? new JsonExporter() : new ProtobufExporter()
  const provider = new BasicTracerProvider({
    resource: defaultResource()
      .merge(
        resourceFromAttributes({
          'service.name': 'gatehouse',
          'service.version': deps.version,
          'process.pid': process.pid,
        }),
      )
      // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES take precedence.
      .merge(detectResources({ detectors: [envDetector] })),
    // At most 2,048 spans wait (OTEL_BSP_MAX_QUEUE_SIZE); more are dropped.
    spanProcessors: [new BatchSpanProcessor(exporter)],
  })
  const stop = listen(provider.getTracer('gatehouse', deps.version))
  return {
    async close() {
      stop()
      let timer: NodeJS.Timeout | undefined
      const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, CLOSE_MS)))
      await Promise.race([provider.shutdown().catch(() => {}), late])
      clearTimeout(timer)
    },
  }
}

/** @returns a function that stops listening */
function listen(tracer: ReturnType<BasicTracerProvider['getTracer']>): () => void {
  const current = new AsyncLocalStorage<CurrentSpan | undefined>()
  const open = new WeakMap<Span, { recorded: Recorded; place: CurrentSpan }>()
  const propagator = new W3CTraceContextPropagator()

  function begin(span: Span): CurrentSpan | undefined {
    const around = current.getStore()
    if (span.isPart && (!around || ++around.first.parts > MOST_PARTS)) return around
    const outer =
      around?.context ??
      (span.caller ? propagator.extract(ROOT_CONTEXT, span.caller, defaultTextMapGetter) : ROOT_CONTEXT)
    const { startedAt } = span
    const recorded = tracer.startSpan(
      span.name,
      {
        kind: KINDS[span.kind],
        attributes: span.attributes,
        ...(startedAt === undefined ? {} : { startTime: startedAt }),
      },
      outer,
    )
    const place = { context: trace.setSpan(outer, recorded), first: around?.first ?? { parts: 0 } }
    open.set(span, { recorded, place })
    span.traceId = recorded.spanContext().traceId
    return place
  }

  function end(span: Span): void {
    const recorded = open.get(span)?.recorded
    if (!recorded) return
    recorded.setAttributes(span.attributes)
    if (span.failure !== undefined) {
      recorded.setAttribute('error.type', span.failure)
      recorded.setStatus({ code: SpanStatusCode.ERROR })
    }
    recorded.end(span.startedAt === undefined ? undefined : performance.timeOrigin + performance.now())
  }

  const ends = (message: unknown) => end(message as Span)
  const leaves = (message: unknown) => {
    const place = current.getStore()
    if (place) propagator.inject(place.context, message, defaultTextMapSetter)
  }
  SPAN_BEGINS.bindStore(current, (message) => begin(message as Span))
  SPAN_CONTINUES.bindStore(current, (message) => open.get(message as Span)?.place)
  subscribe(SPAN_ENDS.name, ends)
  subscribe(SPAN_LEAVES.name, leaves)
  return () => {
    SPAN_BEGINS.unbindStore(current)
    SPAN_CONTINUES.unbindStore(current)
    unsubscribe(SPAN_ENDS.name, ends)
    unsubscribe(SPAN_LEAVES.name, leaves)
  }
}

/** Without the collector's answer, which may contain anything. */
function reasonOf(error: unknown): string {
  const { code, message } = error as { code?: unknown; message?: unknown }
  return typeof code === 'string' || typeof code === 'number' ? String(code) : String(message).slice(0, 200)
}
