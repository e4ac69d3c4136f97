// What a collector receives of a trace with very many parts. test/tracing has the other tests.
import { afterEach, expect, test, vi } from 'vitest'
import { startCollector } from '../../../test/fakes/otlp.ts'
import { createLog } from '../../kernel/log.ts'
import { isTraced, recordSpan, trace, type Span } from '../../kernel/trace.ts'
import { MOST_PARTS, startTracing } from './tracing.ts'

afterEach(() => vi.unstubAllEnvs())

test('a trace gets so many parts and no more, and parts outside of a trace are none', async () => {
  const collector = await startCollector()
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', collector.url)
  const log = createLog('info', { write: () => {} })
  const tracing = startTracing({ version: 'trial', protocol: 'http/protobuf', log })
  const part: Span = { name: 'part', kind: 'client', attributes: {}, isPart: true }
  recordSpan({ ...part, name: 'outside' }, 1)
  await trace('long', {}, async () => {
    for (let n = 0; n < MOST_PARTS + 500; n++) recordSpan({ ...part }, 1)
    await trace('step', {}, async () => {})
  })
  await trace('next', {}, async () => recordSpan({ ...part, name: 'of the next' }, 1))
  await tracing.close()
  expect(isTraced()).toBe(false)
  await collector.close()
  const count = (wanted: string) => collector.spans.filter(({ name }) => name === wanted).length
  expect(['part', 'long', 'step', 'next', 'of the next', 'outside'].map(count)).toEqual([MOST_PARTS, 1, 1, 1, 1, 0])
})
