// Measures reading an upstream apt repository: the description, every index and every entry, and the check of an unchanged one.
// Usage: npx node bench/sync-read.ts [--suite bookworm]
// The address is the one in this machine's apt configuration, the keys are Debian's.
import { execFileSync } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { readKeys } from 'openpgp'
import { formats } from '../src/formats/index.ts'
import { systemClock, wait } from '../src/kernel/clock.ts'
import { createHttpClient } from '../src/kernel/http-client.ts'
import { realReaders } from '../src/formats/readers/fixture.ts'
import { createUpstreams } from '../src/upstream/upstream.ts'

const { values } = parseArgs({ options: { suite: { type: 'string', default: 'bookworm' } } })

const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg'
const fields = ['SITE', 'RELEASE', 'COMPONENT', 'ARCHITECTURE']
const format = fields.map((field) => `$(${field})`).join('|')
const target = execFileSync('apt-get', ['indextargets', '--format', format, 'Created-By: Packages'], {
  encoding: 'utf8',
})
  .split('\n')
  .map((line) => line.split('|'))
  .find(([, release, component]) => release === values.suite && component === 'main')
if (!target) throw new Error(`apt of this machine does not read ${values.suite} main`)
const [url = '', suite = '', component = '', architecture = ''] = target

const directory = await mkdtemp(join(tmpdir(), 'sync-read-'))
const readers = realReaders(directory)
const http = createHttpClient({ allowPrivate: true })
const delay = monitorEventLoopDelay({ resolution: 5 })
try {
  const keys = await readKeys({ binaryKeys: await readFile(KEYRING) })
  const upstream = await createUpstreams({
    http,
    clock: systemClock,
    formats,
    readers: { quick: readers, slow: readers },
    stagingDirectory: directory,
    importDirectories: [],
    wait,
  }).open({
    type: 'apt',
    url,
    suite,
    components: [component],
    architectures: [architecture],
    keys: keys.map((key) => ({ name: null, text: key.armor() })),
    allowUnsigned: false,
  })
  const memory = async (line: string) =>
    Math.round(Number(new RegExp(`${line}:\\s+(\\d+)`).exec(await readFile('/proc/self/status', 'utf8'))?.[1]) / 1024)
  const before = await memory('VmRSS')
  delay.enable()
  const used = process.cpuUsage()
  const began = performance.now()
  const seconds = () => ((performance.now() - began) / 1000).toFixed(2)
  const checked = await upstream.check(null)
  if (checked.state === 'unchanged') throw new Error('nothing to read')
  console.log(`${seconds()} s: Release of ${checked.date?.toISOString() ?? '?'} verified`)
  const heldByCheck = delay.max
  delay.reset()
  const staged = await checked.stage()
  console.log(`${seconds()} s: ${(checked.sizeBytes / 1e6).toFixed(1)} MB of indexes fetched and verified`)
  let packages = 0
  let unreadable = 0
  for await (const batch of staged.packages()) {
    packages += batch.runs.reduce((sum, { fingerprints }) => sum + (fingerprints?.length ?? 0), 0)
    unreadable += batch.unreadable.length
    for (const one of batch.unreadable.slice(0, 3)) console.log(`unreadable: ${one.name ?? '?'}: ${one.unreadable}`)
  }
  await staged.remove()
  console.log(`${seconds()} s: ${packages} packages read, ${unreadable} unreadable`)
  const again = performance.now()
  const { state } = await upstream.check(checked.seen)
  console.log(`${((performance.now() - again) / 1000).toFixed(2)} s: checked again, ${state}`)
  const ms = (nanoseconds: number) => (nanoseconds / 1e6).toFixed(0)
  const { user, system } = process.cpuUsage(used)
  console.log(
    `${((user + system) / 1e6).toFixed(1)} s of processor time on all threads, load ${loadavg()[0]?.toFixed(1)}`,
  )
  console.log(
    `${(await memory('VmHWM')) - before} MiB above the start; event loop held for ${ms(heldByCheck)} ms by the check, ${ms(delay.max)} ms after it`,
  )
} finally {
  delay.disable()
  await http.close()
  await readers.close()
  await rm(directory, { recursive: true })
}
