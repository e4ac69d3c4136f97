// What a dump states about the files beside it: read from the dump itself, so that both are of one moment.
import type { DumpedFile, DumpedState } from './contents.ts'
import { readDump, type Dump } from './database/read-dump.ts'

/** @throws DumpError */
export async function stateOfDump(path: string): Promise<DumpedState> {
  const dump = await readDump(path)
  try {
    const auditHead = await auditHeadOf(dump)
    const needed = await neededDigests(dump)
    return { auditHead, rows: await countRows(dump), files: filesOf(dump, needed) }
  } catch (error) {
    await dump.close()
    throw error
  }
}

async function auditHeadOf(dump: Dump): Promise<DumpedState['auditHead']> {
  for await (const { seq, day, removed_seq } of rowsOf(dump, 'audit_chain', ['seq', 'day', 'removed_seq']))
    return seq === null || !day ? null : { seq: Number(seq), day, removedSeq: Number(removed_seq) }
  return null
}

/** COPY writes a line for each row, and newlines in values as \n. */
async function countRows(dump: Dump): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const { name, rows } of dump.tables) {
    let count = 0
    for await (const lines of rows())
      for (let at = lines.indexOf(10); at !== -1; at = lines.indexOf(10, at + 1)) count++
    counts[name] = count
  }
  return counts
}

/** Digests of files whose bytes must be in the pool or in quarantine: 32 bytes each, so 100 MB for a million packages. */
async function neededDigests(dump: Dump): Promise<ReadonlySet<string>> {
  const needed = new Set<string>()
  for await (const { sha256 } of rowsOf(dump, 'packages', ['sha256'])) if (sha256) needed.add(sha256)
  for await (const { sha256, keeps_bytes } of rowsOf(dump, 'offers', ['sha256', 'keeps_bytes']))
    if (sha256 && keeps_bytes === 't') needed.add(sha256)
  return needed
}

async function* filesOf(dump: Dump, needed: ReadonlySet<string>): AsyncGenerator<DumpedFile> {
  try {
    for await (const { sha256, format, filename } of rowsOf(dump, 'blobs', ['sha256', 'format', 'filename']))
      // A failed upload may leave a row without a file name.
      if (sha256 && format && filename) yield { sha256, format, filename, isNeeded: needed.has(sha256) }
  } finally {
    await dump.close()
  }
}

/** Some columns of a table, null where the value is null. */
async function* rowsOf<C extends string>(
  dump: Dump,
  table: string,
  columns: readonly C[],
): AsyncGenerator<Record<C, string | null>> {
  const found = dump.tables.find(({ name }) => name === table)
  if (!found) return
  const places = columns.map((column) => [column, found.columns.indexOf(column)] as const)
  for await (const lines of found.rows()) {
    for (const line of lines.toString('utf8').split('\n').slice(0, -1)) {
      const fields = line.split('\t')
      yield Object.fromEntries(places.map(([column, at]) => [column, valueOf(fields[at] ?? '\\N')])) as Record<
        C,
        string | null
      >
    }
  }
}

/** https://www.postgresql.org/docs/current/sql-copy.html, "Text Format" */
function valueOf(field: string): string | null {
  if (field === '\\N') return null
  return field.includes('\\') ? field.replace(/\\(.)/gs, (_, escaped: string) => ESCAPES[escaped] ?? escaped) : field
}

const ESCAPES: Readonly<Partial<Record<string, string>>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' }
