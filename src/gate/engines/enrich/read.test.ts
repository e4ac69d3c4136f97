import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Score } from '../../../domain/advisory.ts'
import { readExploited, readScores } from './read.ts'

let directory: string
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'scores-'))
})
afterAll(() => rm(directory, { recursive: true }))

async function scoresOf(bytes: Uint8Array): Promise<Score[]> {
  const path = join(directory, 'list')
  await writeFile(path, bytes)
  const scores: Score[] = []
  for await (const score of readScores(path)) scores.push(score)
  return scores
}

const HEAD = '#model_version:v2026.01.01,score_date:2026-11-20T12:55:00Z\ncve,epss,percentile\n'

test('a list of scores is read by the names of its columns', async () => {
  expect(await scoresOf(gzipSync(`${HEAD}CVE-2021-44228,0.94358,0.99957\r\nCVE-1999-0001,1.0E-5,0.0\n`))).toEqual([
    { cve: 'CVE-2021-44228', score: 0.94358, percentile: 0.99957 },
    { cve: 'CVE-1999-0001', score: 0.00001, percentile: 0 },
  ])
  expect(await scoresOf(gzipSync('percentile,cve,epss\n0.5,CVE-2021-44228,0.25\n'))).toEqual([
    { cve: 'CVE-2021-44228', score: 0.25, percentile: 0.5 },
  ])
})

const many = HEAD + Array.from({ length: 20_000 }, (_, i) => `CVE-2021-${10_000 + i},0.${i % 97}1,0.5\n`).join('')
test.each<[string, Uint8Array]>([
  ['nothing', gzipSync('')],
  ['a web page', Buffer.from('<html>not found</html>')],
  ['columns of something else', gzipSync('a,b,c\n1,2,3\n')],
  ['a score above one', gzipSync(`${HEAD}CVE-2021-44228,1.5,0.5\n`)],
  ['no number', gzipSync(`${HEAD}CVE-2021-44228,,0.5\n`)],
  ['no CVE', gzipSync(`${HEAD}GHSA-1,0.5,0.5\n`)],
  ['a list that was cut', gzipSync(many).subarray(0, -2000)],
])('%s is not believed', async (_, bytes) => {
  await expect(scoresOf(bytes)).rejects.toThrow()
})

describe('known-exploited entries', () => {
  const entry = {
    cveID: 'CVE-2021-44228',
    vendorProject: 'Apache',
    product: 'Log4j2',
    dateAdded: '2021-12-10',
    dueDate: '2021-12-24',
    shortDescription: 'JNDI',
    extra: 1,
  }
  const read = {
    cve: 'CVE-2021-44228',
    vendor: 'Apache',
    product: 'Log4j2',
    dateAdded: '2021-12-10',
    dueDate: '2021-12-24',
    description: 'JNDI',
  }
  test('are read one by one, as a list and as the whole KEV document', () => {
    expect(readExploited(entry)).toEqual([read])
    expect(readExploited([entry, entry])).toEqual([read, read])
    expect(readExploited({ title: 'KEV', vulnerabilities: [entry] })).toEqual([read])
    expect(readExploited([{ cveID: 'CVE-2021-44228' }])).toMatchObject([
      { cve: 'CVE-2021-44228', vendor: null, dueDate: null },
    ])
  })

  test.each([
    [null],
    ['CVE-2021-44228'],
    [{}],
    [[{ cveID: 'CVE-1' }]],
    [{ vulnerabilities: [entry, { cveID: 7 }] }],
    [[[entry]]],
  ])('%j is refused as a whole', (json) => {
    expect(() => readExploited(json)).toThrow(/names no CVE/)
  })
})
