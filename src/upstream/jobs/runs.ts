// Cuts the records of an index into runs, so that a sync need not read packages that it already has: one package more or
// less changes one or two runs.
import { createHash } from 'node:crypto'
import { READER_REVISION, type CatalogRecord } from '../../formats/catalog.ts'

export interface RecordRun {
  digest: string
  records: { record: CatalogRecord; fingerprint: string }[]
}

/** On average one record in 64 ends a run. */
const USUAL_RECORDS = 64
const MOST_RECORDS = 256
const MOST_BYTES = 1024 * 1024

/** Whole runs, in the order of the index. */
export async function* cutRuns(records: AsyncIterable<CatalogRecord>): AsyncGenerator<RecordRun, void, undefined> {
  let run: RecordRun['records'] = []
  let bytes = 0
  for await (const record of records) {
    const digest = createHash('sha256').update(record.content).digest()
    run.push({ record, fingerprint: digest.toString('base64') })
    bytes += record.content.length
    const isEnd = digest.readUInt16BE(0) % USUAL_RECORDS === 0
    if (!isEnd && run.length < MOST_RECORDS && bytes < MOST_BYTES) continue
    yield { digest: digestOf(run), records: run }
    run = []
    bytes = 0
  }
  if (run.length > 0) yield { digest: digestOf(run), records: run }
}

function digestOf(run: RecordRun['records']): string {
  const hash = createHash('sha256').update(`${READER_REVISION}\n`)
  for (const { fingerprint } of run) hash.update(fingerprint)
  return hash.digest('base64')
}
