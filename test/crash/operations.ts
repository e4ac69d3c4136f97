// What a service can be asked to do, and the checkpoints it passes on the way. One entry for each operation: extend here.
import type { CheckpointName } from '../../src/kernel/checkpoint.ts'
import { eicar } from '../fakes/clamd.ts'
import { buildDeb, type SampleDeb } from '../samples/deb.ts'
import type { Service } from '../service.ts'
import { createHash } from 'node:crypto'

export interface Answer {
  status: number
  body: any
}

/** One request, and what it makes of the records (lines as `describe` in state.ts writes them). */
export interface Step {
  ask(service: Service): Promise<Answer>
  /** @param stock the records of every house */
  effect(records: string[], stock: string[]): string[]
  /** what a repetition is answered once it is done */
  again: number
}

export interface Operation {
  name: string
  /** everything but the last is answered before the process dies */
  steps(): Promise<Step[]>
  settings?: 'hold'
  antivirus?: true
  emptyDatabase?: true
  /** the process dies here first, and again at the checkpoint of the case when it recovers at its start */
  diesFirstAt?: string
  /** where to die, and what a restart makes of it: the last step undone, done, or (sync-index) to be asked for again */
  passes: [checkpoint: CheckpointName | `${CheckpointName}:${number}`, then: 'before' | 'after' | 'partly'][]
  /** the ones also tried on the engine that starts slowly */
  alsoEmbedded: CheckpointName[]
}

const PUBLISHING = ['tree-linked', 'generation-written', 'before-flip', 'after-flip', 'published'] as const

/** @param status the record it becomes */
async function upload(sample: SampleDeb, distribution: string, status = 'published'): Promise<Step> {
  const file = await buildDeb(sample)
  const { name = 'sample', version = '1.0-1', arch = 'amd64' } = sample
  const record = [distribution, name, version, arch, status, createHash('sha256').update(file).digest('hex')].join(' ')
  return {
    ask: (service) => service.upload(file, 'package.deb', { distribution }),
    effect: (records) => [...records, record].sort(),
    again: 409,
  }
}

function remove(path: string, matches: (record: string) => boolean): Step {
  return {
    ask: (service) => service.call('DELETE', `/artifacts/${path}`),
    effect: (records) => records.filter((record) => !matches(record)),
    again: 404,
  }
}

const nothing = (method: string, path: string): Step => ({ ask: (service) => service.call(method, path), effect: (records) => records, again: 200 })

export const OPERATIONS: Operation[] = [
  {
    name: 'an upload that is published',
    steps: async () => [await upload({ name: 'fresh', version: '1.0' }, 'jammy')],
    passes: [
      ['staged', 'before'],
      ['verdicts', 'before'],
      ['pooled', 'before'],
      ['settled', 'after'],
      ['manifest-written', 'after'],
      ...PUBLISHING.map((name) => [name, 'after'] as ['published', 'after']),
      ['audit-appended', 'after'],
    ],
    alsoEmbedded: ['pooled', 'settled', 'before-flip', 'after-flip'],
  },
  {
    name: 'a second publish right after the first',
    steps: async () => [await upload({ name: 'first', version: '1.0' }, 'bookworm'), await upload({ name: 'second', version: '1.0' }, 'bookworm')],
    passes: [
      ['pooled:2', 'before'],
      ['settled:2', 'after'],
      ...PUBLISHING.map((name) => [`${name}:2`, 'after'] as ['published:2', 'after']),
    ],
    alsoEmbedded: ['after-flip'],
  },
  {
    name: 'an upload of bytes that another distribution has',
    steps: async () => [await upload({ name: 'shared', version: '1.0' }, 'focal')],
    passes: [
      ['pooled', 'before'],
      ['settled', 'after'],
      ['tree-linked', 'after'],
    ],
    alsoEmbedded: ['pooled'],
  },
  {
    name: 'an upload that is held',
    settings: 'hold',
    steps: async () => [await upload({ name: 'unknown', version: '1.0' }, 'jammy', 'pending_review')],
    passes: [
      ['staged', 'before'],
      ['verdicts', 'before'],
      ['pooled', 'before'],
      ['settled', 'after'],
      ['manifest-written', 'after'],
      ['audit-appended', 'after'],
    ],
    alsoEmbedded: ['settled'],
  },
  {
    name: 'an upload that is quarantined',
    antivirus: true,
    steps: async () => [await upload({ name: 'infected', version: '1.0', files: { 'usr/bin/infected': eicar() } }, 'jammy', 'quarantined')],
    passes: [
      ['staged', 'before'],
      ['verdicts', 'before'],
      ['pooled', 'before'],
      ['settled', 'after'],
      ['manifest-written', 'after'],
      ['audit-appended', 'after'],
    ],
    alsoEmbedded: ['pooled'],
  },
  {
    name: 'the deletion of one version',
    steps: async () => [remove('alpha/1.0', (record) => record.startsWith('jammy alpha 1.0 '))],
    passes: [
      ['deleted', 'after'],
      ...PUBLISHING.map((name) => [name, 'after'] as ['published', 'after']),
      ['manifest-removed', 'after'],
      ['audit-appended', 'after'],
    ],
    alsoEmbedded: ['deleted', 'manifest-removed'],
  },
  {
    name: 'a deletion in two distributions',
    steps: async () => [remove('shared', (record) => record.split(' ')[1] === 'shared')],
    passes: [
      ['deleted', 'after'],
      ['published', 'after'],
      ['tree-linked:2', 'after'],
      ['before-flip:2', 'after'],
      ['manifest-removed:2', 'after'],
    ],
    alsoEmbedded: [],
  },
  {
    name: 'the deletion of what was held',
    steps: async () => [remove('waiting/1.0', (record) => record.startsWith('jammy waiting '))],
    passes: [
      ['deleted', 'after'],
      ['manifest-removed', 'after'],
    ],
    alsoEmbedded: [],
  },
  {
    name: 'initialization',
    steps: async () => [nothing('POST', '/distributions/init')],
    passes: [
      ...PUBLISHING.map((name) => [name, 'after'] as ['published', 'after']),
      ['before-flip:3', 'after'],
      ['after-flip:4', 'after'],
    ],
    alsoEmbedded: ['generation-written'],
  },
  {
    name: 'sync-index beside an empty database',
    emptyDatabase: true,
    // Each of the four distributions is published once before, empty, when the service starts.
    steps: async () => [{ ...nothing('POST', '/artifacts/admin/sync-index'), effect: (_, stock) => stock }],
    passes: [
      ['restored:3', 'partly'],
      ['restored:7', 'after'],
      ['tree-linked:5', 'after'],
      ['generation-written:5', 'after'],
      ['before-flip:6', 'after'],
      ['after-flip:6', 'after'],
      ['published:6', 'after'],
    ],
    alsoEmbedded: [],
  },
  {
    name: 'the recovery of an upload',
    diesFirstAt: 'settled',
    steps: async () => [await upload({ name: 'fresh', version: '1.0' }, 'jammy')],
    passes: [...PUBLISHING.map((name) => [name, 'after'] as ['published', 'after']), ['audit-appended', 'after'], ['collected', 'after']],
    alsoEmbedded: ['after-flip'],
  },
  {
    name: 'the recovery of a deletion',
    diesFirstAt: 'deleted',
    steps: async () => [remove('alpha/1.0', (record) => record.startsWith('jammy alpha 1.0 '))],
    passes: [
      ['generation-written', 'after'],
      ['manifest-removed', 'after'],
      ['collected', 'after'],
    ],
    alsoEmbedded: ['manifest-removed'],
  },
]
