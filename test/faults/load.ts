// The clients of both replicas during the faults: they upload and retry, quarantine, and update apt.
import { createHash } from 'node:crypto'
import { createAptRoot, type AptRoot } from '../clients/apt-root.ts'
import { buildDeb } from '../samples/deb.ts'
import type { Replica } from './replicas.ts'

const UPLOADERS = 2
/** The share of an uploader's packages that is quarantined. */
const QUARANTINED = 1 / 5
/** Between two requests of a client, in milliseconds: as in the review, 5 to 8 uploads a second in total. */
const PAUSE_MS = 150

export interface Load {
  /** digests of packages that were acknowledged and not quarantined since, by `name version` */
  published: Map<string, string>
  /** `name version` of acknowledged quarantines */
  quarantined: Set<string>
  /** number of answers by replica and `status code`, or by the message of a failed connection */
  answers: Map<string, number>
  updates: number
  /** apt's output about replicas that should have answered */
  updateFailures: string[]
  /** Waits until both replicas, or this one, gave this many further answers that match. */
  sees(times: number, matches: RegExp, replica?: Replica): Promise<void>
  /** Waits for running requests. */
  end(): Promise<void>
}

export async function startLoad(replicas: readonly Replica[], key: string): Promise<Load> {
  const roots: AptRoot[] = []
  let isOver = false
  const watches = new Set<{ replica: string; matches: RegExp; left: number; seen(): void }>()
  const load: Load = {
    published: new Map(),
    quarantined: new Set(),
    answers: new Map(),
    updates: 0,
    updateFailures: [],
    async sees(times, matches, replica) {
      const wanted = replica ? [replica] : replicas
      const all = wanted.map(
        ({ name }) => new Promise<void>((seen) => watches.add({ replica: name, matches, left: times, seen })),
      )
      await Promise.all(all)
    },
    async end() {
      isOver = true
      await working
      for (const root of roots) await root.remove()
    },
  }

  function answered(replica: Replica, answer: string): void {
    const key = `${replica.name} ${answer}`
    load.answers.set(key, (load.answers.get(key) ?? 0) + 1)
    for (const watch of watches)
      if (watch.replica === replica.name && watch.matches.test(answer) && --watch.left === 0) {
        watches.delete(watch)
        watch.seen()
      }
  }

  /** Repeats the request until the answer is one of these, as clients do. */
  async function insist(replica: Replica, accepted: readonly number[], ask: () => Promise<Answer>): Promise<void> {
    for (;;) {
      const answer = await ask().catch((error: Error): Answer => ({ status: 0, body: { code: reasonOf(error) } }))
      answered(replica, `${answer.status} ${answer.body.code ?? answer.body.status ?? ''}`)
      await pause()
      if (accepted.includes(answer.status)) return
    }
  }

  async function bring(replica: Replica, name: string): Promise<void> {
    for (let n = 1; !isOver; n++) {
      const file = await buildDeb({ name, version: `1.${n}` })
      // 409: the answer of an earlier try was lost. The digest is compared at the end.
      await insist(replica, [201, 409], () => replica.service.upload(file, 'a.deb', { distribution: 'jammy' }))
      load.published.set(`${name} 1.${n}`, createHash('sha256').update(file).digest('hex'))
      if (n % (1 / QUARANTINED) !== 0) continue
      const path = `/security/packages/${name}/1.${n}/quarantine`
      await insist(replica, [200, 409], () => replica.service.call('POST', path, {}))
      load.published.delete(`${name} 1.${n}`)
      load.quarantined.add(`${name} 1.${n}`)
    }
  }

  async function update(replica: Replica, root: AptRoot): Promise<void> {
    while (!isOver) {
      const wasUp = replica.isUp
      const { code, text } = await root.update()
      if (wasUp && replica.isUp) load.updates++
      if (code !== 0 && wasUp && replica.isUp) load.updateFailures.push(`${replica.name}: ${text}`)
      await pause()
    }
  }

  const work: Promise<void>[] = []
  for (const replica of replicas) {
    for (let n = 0; n < UPLOADERS; n++) work.push(bring(replica, `load-${replica.name.toLowerCase()}${n}`))
    const root = await createAptRoot({ url: `${replica.service.apt}/repos`, suite: 'jammy', key })
    roots.push(root)
    work.push(update(replica, root))
  }
  const working = Promise.all(work)
  return load
}

interface Answer {
  status: number
  body: any
}

const pause = () => new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
const reasonOf = ({ message, cause }: Error) => (cause as { code?: string } | undefined)?.code ?? message
