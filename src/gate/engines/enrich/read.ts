// Reads the two public lists about exploitation: EPSS scores (CSV packed with gzip) and CISA's KEV list (JSON).
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { createGunzip } from 'node:zlib'
import type { Exploited, Score } from '../../../domain/advisory.ts'
import { Problem } from '../../../domain/problem.ts'

const CVE = /^CVE-\d{4}-\d{4,}$/
/** The list of 2026 has 300,000 lines of 30 bytes. */
const MAX_LINES = 5_000_000

export const isCve = (id: string): boolean => CVE.test(id)

/** @throws when the file is no such list, or is truncated: no entry of it can be trusted then */
export async function* readScores(path: string): AsyncGenerator<Score> {
  const packed = createReadStream(path)
  const unpacked = packed.pipe(createGunzip())
  packed.on('error', (error) => unpacked.destroy(error))
  let failure = null as Error | null
  unpacked.on('error', (error) => (failure = error))
  let columns: string[] | null = null
  let lines = 0
  for await (const line of createInterface({ input: unpacked, crlfDelay: Infinity })) {
    if (++lines > MAX_LINES) throw new Error('the list is longer than any list of all vulnerabilities')
    if (line.startsWith('#') || line === '') continue
    const fields = line.split(',')
    if (!columns) {
      if (!['cve', 'epss', 'percentile'].every((name) => fields.includes(name)))
        throw new Error('the columns cve, epss and percentile are missing')
      columns = fields
      continue
    }
    const field = (name: string) => fields[(columns as string[]).indexOf(name)] ?? ''
    const number = (name: string) => (field(name) === '' ? NaN : Number(field(name)))
    const [cve, score, percentile] = [field('cve'), number('epss'), number('percentile')]
    if (!isCve(cve) || !isShare(score) || !isShare(percentile)) throw new Error(`line ${lines} is no score`)
    yield { cve, score, percentile }
  }
  // readline ends quietly when its input breaks.
  if (failure) throw failure
  if (!columns) throw new Error('the list is empty')
}

const isShare = (value: number) => value >= 0 && value <= 1

/**
 * The catalogue, a list of its entries, or one of them.
 * @throws Problem('validation_error') when it is none of these
 */
export function readExploited(json: unknown): Exploited[] {
  const list = Array.isArray(json)
    ? json
    : isObject(json) && Array.isArray(json['vulnerabilities'])
      ? json['vulnerabilities']
      : [json]
  return list.map((entry: unknown, i) => {
    const cve = isObject(entry) ? entry['cveID'] : null
    if (!isObject(entry) || typeof cve !== 'string' || !isCve(cve))
      throw new Problem('validation_error', `entry ${i + 1} names no CVE in \`cveID\``, {
        errors: [{ field: `${i}.cveID`, message: 'a CVE id is expected' }],
      })
    const text = (key: string) => (typeof entry[key] === 'string' ? entry[key].slice(0, 2000) : null)
    return {
      cve,
      vendor: text('vendorProject'),
      product: text('product'),
      dateAdded: text('dateAdded'),
      dueDate: text('dueDate'),
      description: text('shortDescription'),
    }
  })
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
