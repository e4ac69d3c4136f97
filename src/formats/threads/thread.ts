// A thread that reads packages: it answers one request after another and ends when the service ends it.
import { parentPort } from 'node:worker_threads'
import { packFacts, unpackFacts } from '../../domain/packed-facts.ts'
import { isProblem } from '../../domain/problem.ts'
import { formatOf } from '../index.ts'
import { WINDOW, type MemberEvent, type Reply, type Request } from './messages.ts'

const BATCH_BYTES = 256 * 1024
const BATCH_EVENTS = 256

const port = parentPort
if (!port) throw new Error('formats/threads/thread runs as a worker thread only')

/** of the pass over members that is under way */
let credit = WINDOW
let stopped = false
let wake = () => {}

const send = (reply: Reply, transfer: ArrayBuffer[] = []): void => port.postMessage(reply, transfer)

port.on('message', (request: Request) => {
  if (request.kind === 'more') credit++
  else if (request.kind === 'stop') stopped = true
  else if (request.kind === 'read-each') void answerEach(request)
  else void answer(request)
  wake()
})

async function answerEach({ format, paths, options }: Extract<Request, { kind: 'read-each' }>): Promise<void> {
  for (const path of paths) await answer({ kind: 'read', format, path, options })
}

async function answer(request: Exclude<Request, { kind: 'more' | 'stop' | 'read-each' }>): Promise<void> {
  credit = WINDOW
  stopped = false
  try {
    const format = formatOf(request.format)
    if (request.kind === 'read') {
      const facts = await format.read(request.path, request.options)
      const lines = new TextEncoder().encode(facts.files.join('\n'))
      send({ kind: 'facts', packed: packFacts(facts), lines }, [lines.buffer])
    } else if (request.kind === 'entry') {
      const { facts, files, ...file } = request.pkg
      send({
        kind: 'entry',
        entry: format.entry({ ...file, facts: unpackFacts({ facts, files }) }, request.distribution),
      })
    } else if (request.kind === 'verify') {
      if (!format.verifySignature) throw new Error(`${format.id} packages have no signatures`)
      send({ kind: 'verdict', verdict: await format.verifySignature(request.path, request.keys) })
    } else {
      await sendMembers(format.members(request.path, request.options))
    }
  } catch (error) {
    if (isProblem(error, 'invalid_package')) send({ kind: 'problem', detail: error.detail })
    else send({ kind: 'error', message: error instanceof Error ? (error.stack ?? error.message) : String(error) })
  }
}

async function sendMembers(members: ReturnType<ReturnType<typeof formatOf>['members']>): Promise<void> {
  let events: MemberEvent[] = []
  let bytes = new Uint8Array(BATCH_BYTES)
  let used = 0

  async function flush(last: boolean): Promise<void> {
    while (credit === 0 && !isStopped()) await new Promise<void>((resolve) => (wake = resolve))
    if (isStopped()) return
    credit--
    // The last batch is mostly small: it is not worth 256 KiB.
    const sent = used < BATCH_BYTES / 2 ? bytes.slice(0, used) : bytes
    send({ kind: 'batch', events, bytes: sent, last }, [sent.buffer])
    events = []
    bytes = new Uint8Array(BATCH_BYTES)
    used = 0
  }

  for await (const { name, sizeBytes, content } of members) {
    if (events.length >= BATCH_EVENTS) await flush(false)
    events.push({ kind: 'member', name, sizeBytes })
    for await (const piece of content) {
      for (let at = 0; at < piece.length && !isStopped();) {
        if (used === BATCH_BYTES || events.length >= BATCH_EVENTS) await flush(false)
        const part = piece.subarray(at, at + BATCH_BYTES - used)
        bytes.set(part, used)
        events.push({ kind: 'content', start: used, end: used + part.length })
        used += part.length
        at += part.length
      }
      if (isStopped()) break
    }
    if (isStopped()) break
  }
  if (!isStopped()) await flush(true)
  if (isStopped()) send({ kind: 'stopped' })
}

// Through a function, since the compiler does not see that messages change the variable.
function isStopped(): boolean {
  return stopped
}
