// Inside a reader: the jobs about packages.
import { packFacts, unpackFacts } from '../../domain/packed-facts.ts'
import { answerOne, type Handlers, type Job } from '../readers/serve.ts'
import { handlerOf } from '../readers/session.ts'
import { intakeFormatOf } from '../index.ts'
import { members } from './members.ts'
import type { EntryReply, FactsReply, RequestOf, VerdictReply } from './messages.ts'

export const packageJobs: Handlers = {
  read,
  async 'read-each'({ format, paths, options }: RequestOf<'read-each'>, job) {
    for (const path of paths) await answerOne(job, () => read({ kind: 'read', format, path, options }, job))
  },
  async entry({ format, pkg, distribution }: RequestOf<'entry'>, job) {
    const { facts, files, ...file } = pkg
    const entry = intakeFormatOf(format).entry({ ...file, facts: unpackFacts({ facts, files }) }, distribution)
    await job.send({ kind: 'entry', entry } satisfies EntryReply)
  },
  async verify({ format, path, keys }: RequestOf<'verify'>, job) {
    const { verifySignature } = intakeFormatOf(format)
    if (!verifySignature) throw new Error(`${format} packages have no signatures`)
    await job.send({ kind: 'verdict', verdict: await verifySignature(path, keys) } satisfies VerdictReply)
  },
  members: handlerOf(async () => members),
}

async function read({ format, path, options }: RequestOf<'read'>, job: Job): Promise<void> {
  const facts = await intakeFormatOf(format).read(path, options)
  const packed = packFacts(facts)
  const utf8 = new TextEncoder()
  await job.send({
    kind: 'facts',
    facts: utf8.encode(packed.facts),
    files: packed.files,
    lines: utf8.encode(facts.files.join('\n')),
  } satisfies FactsReply)
}
