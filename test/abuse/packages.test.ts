// Packages that declare as much as possible: none of them blocks the service or fills its memory (security review, item 9).
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildApk } from '../samples/apk.ts'
import { assembleDeb, buildDeb, controlText } from '../samples/deb.ts'
import { buildRpm, i18n } from '../samples/rpm.ts'
import { buildTar, tarEntry } from '../samples/tar.ts'
import { ENGINES, expectHarmless, startTarget, type Target } from './harness.ts'

const many = (count: number): string[] => Array.from({ length: count }, (_, index) => `name-${index}`)
const list = (count: number): string => many(count).join(', ')

const deb = (name: string, fields: Record<string, string>) => (version: string) => buildDeb({ name, version, fields })
const debOfFiles = (name: string, count: number) => (version: string) =>
  assembleDeb({
    control: gzipSync(buildTar([{ name: 'control', content: controlText({ name, version }) }])),
    data: gzipSync(
      Buffer.concat([
        ...many(count).map((file) => tarEntry({ name: `usr/share/${file}`, content: '' })),
        Buffer.alloc(1024),
      ]),
    ),
    compression: 'gz',
  })

interface Case {
  name: string
  distribution: string
  file: string
  build(version: string): Promise<Uint8Array> | Uint8Array
  status: 201 | 400
}

const kinds = ['requires', 'recommends', 'suggests', 'supplements', 'enhances', 'conflicts', 'obsoletes'] as const
const files = (count: number) => many(count).map((name) => ({ path: `/usr/share/x/${name}`, kind: 'ghost' as const }))

const CASES: Case[] = [
  {
    name: 'an rpm with 100,000 requires of seven kinds',
    distribution: 'rocky9',
    file: 'kinds.rpm',
    build: () => buildRpm({ name: 'kinds', ...Object.fromEntries(kinds.map((kind) => [kind, many(100_000)])) }),
    status: 400,
  },
  {
    name: 'an rpm with as many relations as are accepted',
    distribution: 'rocky9',
    file: 'most.rpm',
    build: (version) =>
      buildRpm({ name: 'most', version, requires: many(8000), recommends: many(8000), provides: many(65_000) }),
    status: 201,
  },
  {
    name: 'an rpm with 500,000 files in its header',
    distribution: 'rocky9',
    file: 'files.rpm',
    build: () => buildRpm({ name: 'files', files: files(500_000) }),
    status: 400,
  },
  {
    name: 'an rpm with as many files as are accepted',
    distribution: 'rocky9',
    file: 'most-files.rpm',
    build: (version) => buildRpm({ name: 'most-files', version, files: files(124_000) }),
    status: 201,
  },
  {
    name: 'an rpm with a summary of 1 MB',
    distribution: 'rocky9',
    file: 'summary.rpm',
    build: () => buildRpm({ name: 'summary', tags: { 1004: i18n('x'.repeat(1_000_000)) } }),
    status: 400,
  },
  {
    name: 'a deb with eight fields of 20,000 relations',
    distribution: 'bookworm',
    file: 'relations.deb',
    build: deb(
      'relations',
      Object.fromEntries(
        ['Depends', 'Pre-Depends', 'Recommends', 'Suggests', 'Enhances', 'Breaks', 'Conflicts', 'Replaces'].map(
          (field) => [field, list(20_000)],
        ),
      ),
    ),
    status: 400,
  },
  {
    name: 'a deb with as many relations as are accepted',
    distribution: 'bookworm',
    file: 'most.deb',
    build: deb('most', { Depends: list(4000), Recommends: list(4000), Provides: list(16_000) }),
    status: 201,
  },
  {
    name: 'a deb with a description of 9.9 MB',
    distribution: 'bookworm',
    file: 'description.deb',
    build: deb('description', { Description: `x\n${' y\n'.repeat(3_300_000)} z` }),
    status: 400,
  },
  {
    name: 'a deb with 400,000 entries',
    distribution: 'bookworm',
    file: 'entries.deb',
    build: debOfFiles('entries', 400_000),
    status: 400,
  },
  {
    name: 'a deb with as many files as are accepted',
    distribution: 'bookworm',
    file: 'most-files.deb',
    build: debOfFiles('most-files', 124_000),
    status: 201,
  },
  {
    name: 'an apk with 20,000 depends',
    distribution: 'alpine3.20',
    file: 'depends.apk',
    build: () => buildApk({ name: 'depends', info: { depend: 'a '.repeat(20_000) } }),
    status: 400,
  },
]

/**
 * The promise is about one package. Of the packages that wait for room (intake/facts-room), two are in readers: the names of
 * each, 31 MB, arrive as bytes and become text.
 */
const ANSWERS_MB = 2 * 2 * 31

describe.each(ENGINES)('with the %s database', (engine) => {
  let target: Target
  beforeAll(async () => {
    target = await startTarget(engine, { REPO_FORMAT: 'all' })
  })
  afterAll(() => target.remove())

  // A refused package never reaches the database.
  const cases = engine === 'embedded' ? CASES : CASES.filter(({ status }) => status === 201)
  test.each(cases)('$name', async ({ name, distribution, file, build, status }) => {
    const bytes = await build('1.1')
    const measured = await target.measure(() => target.upload(bytes, file, { distribution }), {
      // The service continues to work on an accepted package after its answer.
      ...(status === 201 ? { afterMs: 3000 } : {}),
    })
    const { result } = measured
    const outcome = result.status === status ? status : `${result.status} ${JSON.stringify(result.body).slice(0, 300)}`
    expect(outcome, name).toBe(status)
    if (status === 400) expect(result.body.code).toBe('invalid_package')
    expectHarmless(`${engine}: ${name}`, measured)
  })

  test('five rpms with as many long file names as are accepted, side by side', async () => {
    const names = Array.from({ length: 120_000 }, (_, n) => `/usr/share/x/${String(n).padStart(250, 'f')}`)
    const packages = await Promise.all(
      [1, 2, 3, 4, 5].map((n) =>
        buildRpm({
          ...{ name: `side-${n}`, version: '1.1' },
          files: names.map((path) => ({ path, kind: 'ghost' as const })),
        }),
      ),
    )
    const measured = await target.measure(
      () => Promise.all(packages.map((bytes, n) => target.upload(bytes, `side-${n}.rpm`, { distribution: 'rocky9' }))),
      { afterMs: 5000 },
    )
    expect(measured.result.map(({ status, body }) => [status, body.status])).toEqual(
      Array.from({ length: 5 }, () => [201, 'published']),
    )
    expectHarmless(`${engine}: five rpms side by side`, measured, ANSWERS_MB)
  })

  describe('that are held', () => {
    beforeAll(async () => {
      const validation = { clamav_scan: true, on_unscanned: 'hold' }
      expect((await target.call('PATCH', '/settings/', { validation })).status).toBe(200)
    })

    test.each(CASES.filter(({ status, distribution }) => status === 201 && distribution === 'rocky9'))(
      '$name: shown, rescanned, approved',
      async ({ name, file, build }) => {
        const uploaded = await target.upload(await build('1.1'), file, { distribution: 'almalinux9' })
        expect([uploaded.status, uploaded.body.status]).toEqual([201, 'pending_review'])
        const { package: of, version } = uploaded.body as { package: string; version: string }
        const at = `/security/packages/${of}/${version}`
        const calls: [method: string, path: string, body?: object][] = [
          ['GET', `/artifacts/${of}`],
          ['GET', `/artifacts/${of}/dependencies`],
          ['GET', `/sbom/${of}/${version}`],
          ['GET', `${at}/decision`],
          ['POST', `${at}/rescan`],
          ['POST', `${at}/decide`, { decision: 'approve', justification: 'measured', distribution: 'almalinux9' }],
        ]
        for (const [method, path, body] of calls) {
          const measured = await target.measure(() => target.call(method, path, body), {
            ...(method === 'POST' ? { afterMs: 2000 } : {}),
          })
          expect(measured.result.status, `${method} ${path}`).toBe(200)
          expectHarmless(`${engine}: ${method} ${path}, ${name}`, measured)
        }
      },
    )
  })
})
