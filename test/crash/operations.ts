// The operations of a service and the checkpoints they pass. A new operation adds an entry.
import { createHash } from 'node:crypto'
import type { CheckpointName } from '../../src/kernel/checkpoint.ts'
import { eicar } from '../fakes/clamd.ts'
import type { Service } from '../service.ts'
import { archOf, buildPackage, type Format, type Sample } from './packages.ts'
import { waitFor } from './state.ts'

export interface Answer {
  status: number
  body: any
}

/** One request and its effect on the records (lines as `describe` in state.ts writes them). */
export interface Step {
  ask(service: Service): Promise<Answer>
  /** @param stock the records of every installation */
  effect(records: string[], stock: string[]): string[]
  /** status of the same request when it is already done */
  again: number
}

export interface Operation {
  name: string
  format: Format
  /** all steps but the last are answered before the process dies */
  steps(): Promise<Step[]>
  settings?: 'hold'
  antivirus?: true
  emptyDatabase?: true
  /** the next process goes on with the last step as a task: indexes change while clients read them */
  isContinued?: true
  /** the process dies here first, and then at the checkpoint of the case while it recovers */
  diesFirstAt?: string
  /**
   * The checkpoint to die at, and the state after a restart: the last step is undone, done, or (sync-index) incomplete.
   * Cases marked `long` take a code path that another case covers. They run only with CRASH_FORM=long.
   */
  passes: [
    checkpoint: CheckpointName | `${CheckpointName}:${number}`,
    then: 'before' | 'after' | 'partly',
    form?: 'long',
  ][]
  /** the checkpoints also tried with the embedded database, which starts slowly */
  alsoEmbedded?: CheckpointName[]
  /** checkpoints around access to the pool: also tried with packages in an object store */
  alsoInObjects?: Operation['passes'][number][0][]
}

/** @param status the status of the new record */
async function upload(format: Format, sample: Sample, distribution: string, status = 'published'): Promise<Step> {
  const file = await buildPackage(format, sample)
  const record = [
    distribution,
    sample.name,
    sample.version,
    archOf(format, sample),
    status,
    createHash('sha256').update(file).digest('hex'),
  ].join(' ')
  return {
    ask: (service) => service.upload(file, 'package', { distribution }),
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

/** A decision about a package of the stock. */
function review(path: string, body: object, [from, to]: [string, string], start: string): Step {
  const change = (record: string) => (record.startsWith(start) ? record.replace(` ${from} `, ` ${to} `) : record)
  return {
    ask: (service) => service.call('POST', `/security/packages/${path}`, body),
    effect: (records) => records.map(change).sort(),
    again: 409,
  }
}

/** Copies the newest version of a package of the stock to another distribution. */
function promote(name: string, newest: string, from: string, to: string): Step {
  const copies = (records: string[]) =>
    records
      .filter((record) => record.startsWith(`${from} ${name} ${newest} `))
      .map((record) => record.replace(from, to))
  return {
    ask: (service) => service.call('POST', '/distributions/promote', { package: name, from_dist: from, to_dist: to }),
    effect: (records) => [...records, ...copies(records)].sort(),
    again: 200,
  }
}

const nothing = (method: string, path: string): Step => ({
  ask: (service) => service.call(method, path),
  effect: (records) => records,
  again: 200,
})
const before = (...names: Operation['passes'][number][0][]) =>
  names.map((name): Operation['passes'][number] => [name, 'before'])
const after = (...names: Operation['passes'][number][0][]) =>
  names.map((name): Operation['passes'][number] => [name, 'after'])
const long = (passes: Operation['passes']) =>
  passes.map(([name, then]): Operation['passes'][number] => [name, then, 'long'])

/** The first operation on a code path tries all of its checkpoints, later ones only those that differ. */
export const OPERATIONS: Operation[] = [
  {
    name: 'an upload that is published',
    format: 'apt',
    steps: async () => [await upload('apt', { name: 'fresh', version: '1.0' }, 'jammy')],
    passes: [
      ...before('staged', 'verdicts', 'pooled'),
      ...after(
        'settled',
        'manifest-written',
        'tree-linked',
        'generation-written',
        'before-flip',
        'after-flip',
        'published',
        'audit-appended',
      ),
    ],
    alsoEmbedded: ['settled', 'after-flip'],
    alsoInObjects: ['pooled', 'settled', 'tree-linked'],
  },
  {
    name: 'a second publish right after the first',
    format: 'apt',
    steps: async () => [
      await upload('apt', { name: 'first', version: '1.0' }, 'bookworm'),
      await upload('apt', { name: 'second', version: '1.0' }, 'bookworm'),
    ],
    passes: [...long(after('generation-written:2')), ...after('after-flip:2')],
  },
  {
    name: 'an upload of bytes that another distribution has',
    format: 'apt',
    steps: async () => [await upload('apt', { name: 'shared', version: '1.0' }, 'focal')],
    passes: [...before('pooled'), ...long(after('tree-linked'))],
    alsoInObjects: ['pooled'],
  },
  {
    name: 'an upload that is held',
    format: 'apt',
    settings: 'hold',
    steps: async () => [await upload('apt', { name: 'unknown', version: '1.0' }, 'jammy', 'pending_review')],
    passes: long(after('settled', 'manifest-written')),
  },
  {
    name: 'an upload that is quarantined',
    format: 'apt',
    antivirus: true,
    steps: async () => [
      await upload(
        'apt',
        { name: 'infected', version: '1.0', content: eicar().toString('latin1') },
        'jammy',
        'quarantined',
      ),
    ],
    passes: [...before('pooled'), ...long(after('settled'))],
    alsoInObjects: ['pooled'],
  },
  {
    name: 'an approval',
    format: 'apt',
    steps: async () => [
      review(
        'waiting/1.0/decide',
        { decision: 'approve', justification: 'known to us' },
        ['pending_review', 'published'],
        'jammy waiting ',
      ),
    ],
    passes: [...after('decided', 'before-flip'), ...long(after('tree-linked', 'after-flip', 'published'))],
  },
  {
    name: 'a rejection',
    format: 'apt',
    steps: async () => [
      review(
        'waiting/1.0/decide',
        { decision: 'reject', justification: 'not wanted' },
        ['pending_review', 'rejected'],
        'jammy waiting ',
      ),
    ],
    passes: [...long(after('decided')), ...after('placed')],
    alsoInObjects: ['placed'],
  },
  {
    name: 'a quarantine of a published package',
    format: 'apt',
    steps: async () => [review('alpha/1.0/quarantine', {}, ['published', 'quarantined'], 'jammy alpha 1.0 ')],
    passes: [...after('decided'), ...long(after('after-flip', 'placed'))],
    alsoInObjects: ['decided'],
  },
  {
    name: 'the deletion of one version',
    format: 'apt',
    steps: async () => [remove('alpha/1.0', (record) => record.startsWith('jammy alpha 1.0 '))],
    passes: [
      ...after('deleted', 'after-flip', 'manifest-removed'),
      ...long(after('generation-written', 'before-flip', 'published')),
    ],
    alsoEmbedded: ['manifest-removed'],
    alsoInObjects: ['deleted', 'manifest-removed'],
  },
  {
    name: 'a promotion',
    format: 'apt',
    steps: async () => [promote('alpha', '2.0', 'jammy', 'bookworm')],
    passes: after('manifest-written', 'before-flip', 'after-flip'),
  },
  {
    name: 'a deletion in two distributions',
    format: 'apt',
    steps: async () => [remove('shared', (record) => record.split(' ')[1] === 'shared')],
    passes: [...after('before-flip:2'), ...long(after('published', 'manifest-removed:2'))],
  },
  {
    name: 'retention of one version of each package',
    format: 'apt',
    steps: async () => [
      {
        ...nothing('PATCH', '/settings/'),
        ask: (service) =>
          service.call('PATCH', '/settings/', { retention: { keep_versions: { '*': 1 }, keep_versions_days: 0 } }),
      },
      {
        // The next process continues an interrupted run.
        ask: (service) =>
          waitFor('the end of the other run', async () => {
            const answer = await service.call('POST', '/settings/run-retention')
            return answer.status !== 409 && answer
          }),
        effect: (records) => records.filter((record) => !record.startsWith('jammy alpha 1.0 ')),
        again: 200,
      },
    ],
    passes: after('deleted'),
    alsoInObjects: ['deleted'],
  },
  {
    name: 'initialization',
    format: 'apt',
    isContinued: true,
    steps: async () => [nothing('POST', '/distributions/init')],
    passes: [...after('before-flip:3'), ...long(after('generation-written', 'after-flip:4'))],
  },
  {
    name: 'sync-index with an empty database',
    format: 'apt',
    emptyDatabase: true,
    // At its start the service publishes each of the four distributions once, empty.
    steps: async () => [{ ...nothing('POST', '/artifacts/admin/sync-index'), effect: (_, stock) => stock }],
    passes: [
      ['restored:3', 'partly'],
      ['task-saved', 'partly'],
      ...after('before-flip:6'),
      ...long(after('restored:7', 'after-flip:6')),
    ],
    alsoInObjects: ['restored:3'],
  },
  {
    name: 'the recovery of an upload',
    format: 'apt',
    diesFirstAt: 'settled',
    steps: async () => [await upload('apt', { name: 'fresh', version: '1.0' }, 'jammy')],
    passes: [...after('after-flip', 'collected'), ...long(after('before-flip', 'audit-appended'))],
    alsoInObjects: ['collected'],
  },
  {
    name: 'the recovery of a deletion',
    format: 'apt',
    diesFirstAt: 'deleted',
    steps: async () => [remove('alpha/1.0', (record) => record.startsWith('jammy alpha 1.0 '))],
    passes: long(after('generation-written', 'manifest-removed')),
  },
  {
    name: 'an rpm that is signed and published',
    format: 'rpm',
    steps: async () => [await upload('rpm', { name: 'fresh', version: '1.0-1' }, 'rocky9')],
    passes: [
      ...before('pooled'),
      ...after('settled', 'after-flip'),
      ...long([...before('verdicts'), ...after('before-flip')]),
    ],
  },
  {
    name: 'the deletion of an rpm',
    format: 'rpm',
    steps: async () => [remove('alpha/1.0-1', (record) => record.startsWith('rocky9 alpha 1.0-1 '))],
    passes: [...after('deleted'), ...long(after('after-flip', 'manifest-removed'))],
  },
  {
    name: 'an apk that is published',
    format: 'apk',
    steps: async () => [await upload('apk', { name: 'fresh', version: '1.0-r0' }, 'alpine3.20')],
    passes: [...after('settled', 'before-flip'), ...long([...before('pooled'), ...after('after-flip')])],
  },
  {
    name: 'an apk that replaces a deleted one',
    format: 'apk',
    steps: async () => [
      remove('alpha/1.0-r0', (record) => record.startsWith('alpine3.20 alpha 1.0-r0 ')),
      await upload('apk', { name: 'alpha', version: '1.0-r0', content: 'other bytes' }, 'alpine3.20'),
    ],
    passes: [...after('before-flip:2'), ...long(after('settled'))],
    alsoInObjects: ['before-flip:2'],
  },
  {
    name: 'the deletion of an apk',
    format: 'apk',
    steps: async () => [remove('alpha/1.0-r0', (record) => record.startsWith('alpine3.20 alpha 1.0-r0 '))],
    passes: [...after('deleted'), ...long(after('after-flip', 'manifest-removed'))],
  },
]
