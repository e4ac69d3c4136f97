// Cuts the records of an index into runs, so that a sync need not read the packages that it has: one package more or less
// changes one or two runs.
import { createHash } from 'node:crypto'
import { READER_REVISION, type CatalogRecord } from '../formats/catalog.ts'

export interface RecordRun {
  digest: string
  records: { record: CatalogRecord; fingerprint: string }[]
}

/** A record of 64 ends a run. */
const USUAL_RECORDS = 64
const MOST_RECORDS = 256
const MOST_BYTES = 1024 * 1024
/** Records that are handed on together, if they do not exceed MOST_BYTES before: few questions to the database. */
const GROUP_RECORDS = 512

/** Groups of whole runs, in the order of the index. */
export async function* groupRuns(records: AsyncIterable<CatalogRecord>): AsyncGenerator<RecordRun[], void, undefined> {
  let group: RecordRun[] = []
  let groupRecords = 0
  let groupBytes = 0
  let run: RecordRun['records'] = []
  let bytes = 0
  const endRun = () => {
    group.push({ digest: digestOf(run), records: run })
    groupRecords += run.length
    groupBytes += bytes
    run = []
    bytes = 0
  }
  for await (const record of records) {
    const digest = createHash('sha256').update(record.content).digest()
    run.push({ record, fingerprint: digest.toString('base64') })
    bytes += record.content.length
    const isEnd = digest.readUInt16BE(0) % USUAL_RECORDS === 0
    if (!isEnd && run.length < MOST_RECORDS && bytes < MOST_BYTES) continue
    endRun()
    if (groupRecords < GROUP_RECORDS && groupBytes < MOST_BYTES) continue
    yield group
    group = []
    groupRecords = 0
    groupBytes = 0
  }
  if (run.length > 0) endRun()
  if (group.length > 0) yield group
}

function digestOf(run: RecordRun['records']): string {
  const hash = createHash('sha256').update(`${READER_REVISION}\n`)
  for (const { fingerprint } of run) hash.update(fingerprint)
  return hash.digest('base64')
}
