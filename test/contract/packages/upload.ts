// POST /upload/: its answers, its refusals, and that a refusal leaves no trace.
import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { formats } from '../../../src/formats/index.ts'
import { assembleDeb, buildDeb, controlText } from '../../samples/deb.ts'
import { compressSample } from '../../samples/compress.ts'
import { buildTar } from '../../samples/tar.ts'
import type { Gate } from '../harness.ts'
import { lastAudited, published, staged } from './seen.ts'

/** See the decisions, section 6. */
const BODY_KEYS = [
  'status',
  'package',
  'version',
  'distribution',
  'pipeline',
  'filename',
  'arch',
  'sha256',
  'coverage',
  'validation',
  'held_reason',
  'warnings',
  'message',
  'duplicate',
]
const COVERAGE_KEYS = [
  'engine',
  'engine_version',
  'database_date',
  'distro_matched',
  'files_seen',
  'files_skipped',
  'bytes',
]
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

interface Answer {
  coverage: Record<string, object | null>
  validation: { steps: { name: string; passed: boolean; message: string; detail: unknown }[] }
  warnings: string[]
}

export function uploadContract(gate: Gate): void {
  test('a package is published before the answer, which has every key', async () => {
    const file = await buildDeb({ name: 'hello', version: '1:2.10-3', fields: { Depends: 'absent (>= 2)' } })
    const { status, headers, body } = await gate.upload<Answer>(
      file,
      { distribution: 'noble', sha256: sha256(file).toUpperCase() },
      { as: gate.people.uploader.token },
    )
    expect(status).toBe(201)
    expect(headers['x-package-status']).toBe('published')
    expect(Object.keys(body)).toEqual(expect.arrayContaining(BODY_KEYS))
    expect(body).toMatchObject({
      status: 'published',
      package: 'hello',
      version: '1:2.10-3',
      distribution: 'noble',
      arch: 'amd64',
      filename: 'hello_2.10-3_amd64.deb',
      sha256: sha256(file),
      duplicate: false,
      held_reason: null,
      // No scan engine is configured, which development allows.
      pipeline: { antivirus: 'skipped', gpg: 'signed', dependencies: 'missing' },
      validation: { passed: true, cve_status: 'approved', deps_missing: ['absent (>= 2)'] },
    })
    expect(body.validation.steps.map((step) => step.name)).toEqual([
      'format',
      'provenance',
      'antivirus',
      'cve',
      'gpg',
      'dependencies',
      'publication',
    ])
    for (const step of body.validation.steps)
      expect(Object.keys(step)).toEqual(expect.arrayContaining(['name', 'passed', 'message', 'detail']))
    for (const coverage of Object.values(body.coverage))
      if (coverage) expect(Object.keys(coverage)).toEqual(expect.arrayContaining(COVERAGE_KEYS))
    expect(Object.keys(body.coverage)).toEqual(['antivirus', 'cve_scan'])
    expect(body.warnings.length).toBeGreaterThan(0)
    expect(await published(gate, 'noble')).toContain('hello 1:2.10-3')
    expect(await staged(gate)).toEqual([])
    expect(await lastAudited(gate, { action: 'UPLOAD' })).toMatchObject({
      result: 'SUCCESS',
      outcome: 'published',
      user: 'token:uploader-robot',
      package: 'hello',
      version: '1:2.10-3',
      distribution: 'noble',
      arch: 'amd64',
      ip: '127.0.0.1',
    })
  })

  test('a package of architecture all is published in a distribution of one architecture', async () => {
    const { body } = await gate.upload(await buildDeb({ name: 'for-all', arch: 'all' }), { distribution: 'noble' })
    expect(body).toMatchObject({ status: 'published', arch: 'all', filename: 'for-all_1.0-1_all.deb' })
    expect(await published(gate, 'noble')).toContain('for-all 1.0-1')
  })

  test('concurrent uploads each get their own answer', async () => {
    const same = await buildDeb({ name: 'crowd-same' })
    const files = [
      ...(await Promise.all(Array.from({ length: 12 }, (_, i) => buildDeb({ name: `crowd-${i}` })))),
      same,
      same,
      await buildDeb({ name: 'crowd-two', files: { 'usr/a': 'one' } }),
      await buildDeb({ name: 'crowd-two', files: { 'usr/a': 'other' } }),
    ]
    const answers = await Promise.all(
      files.map((file) => gate.upload<{ code?: string }>(file, { distribution: 'noble' })),
    )
    const codes = answers.map(({ status, body }) => `${status} ${body.code ?? 'published'}`)
    expect(codes.slice(0, 12)).toEqual(Array(12).fill('201 published'))
    expect(codes.slice(12, 14).sort()).toEqual(['201 published', '409 already_exists'])
    expect(codes.slice(14).sort()).toEqual(['201 published', '409 duplicate_conflict'])
    const offered = (await published(gate, 'noble')).filter((line) => line.startsWith('crowd-'))
    expect(offered.sort()).toEqual(
      [...Array.from({ length: 12 }, (_, i) => `crowd-${i} 1.0-1`), 'crowd-same 1.0-1', 'crowd-two 1.0-1'].sort(),
    )
    expect(await staged(gate)).toEqual([])
  })

  const control = async (fields: Record<string, string | null>) => buildDeb({ name: 'broken', fields })
  const refusals: [string, number, string, () => Promise<Uint8Array>, Record<string, string>?, object?][] = [
    ['an unknown distribution', 400, 'unknown_distribution', () => buildDeb(), { distribution: 'warty' }],
    ['a distribution in capitals', 400, 'unknown_distribution', () => buildDeb(), { distribution: 'JAMMY' }],
    ['an empty distribution', 400, 'validation_error', () => buildDeb(), { distribution: '' }],
    [
      'no distribution',
      400,
      'validation_error',
      () => buildDeb(),
      {},
      { errors: [{ field: 'distribution', message: 'is required' }] },
    ],
    ['a distribution with NUL', 400, 'validation_error', () => buildDeb(), { distribution: 'jam\0my' }],
    ['text', 400, 'invalid_package', async () => Buffer.from('no package')],
    ['an empty file', 400, 'invalid_package', async () => Buffer.alloc(0)],
    ['zeros', 400, 'invalid_package', async () => Buffer.alloc(100_000)],
    ['a tar archive', 400, 'invalid_package', async () => buildTar([{ name: 'control', content: controlText() }])],
    [
      'half a package',
      400,
      'invalid_package',
      async () => {
        const file = await buildDeb({ files: { 'usr/big': Buffer.alloc(50_000, 'a') } })
        return file.subarray(0, file.length / 2)
      },
    ],
    [
      'a package without control file',
      400,
      'invalid_package',
      async () =>
        assembleDeb({
          control: await compressSample(buildTar([{ name: './' }]), 'gz'),
          data: await compressSample(buildTar([]), 'gz'),
          compression: 'gz',
        }),
    ],
    ['an invalid name', 400, 'invalid_package', () => control({ Package: 'Br_oken' })],
    ['a name with ../', 400, 'invalid_package', () => control({ Package: '../../etc' })],
    ['an invalid version', 400, 'invalid_package', () => control({ Version: '1.0 beta' })],
    ['a version with ../', 400, 'invalid_package', () => control({ Version: '1/../../x' })],
    ['no version', 400, 'invalid_package', () => control({ Version: null })],
    ['NUL in a description', 400, 'invalid_package', () => control({ Description: 'a\0b' })],
    ['another architecture', 400, 'arch_mismatch', () => buildDeb({ arch: 'arm64' })],
    [
      'a malformed digest',
      400,
      'validation_error',
      () => buildDeb(),
      { distribution: 'jammy', sha256: 'abc' },
      { errors: [{ field: 'sha256' }] },
    ],
    ['another digest', 400, 'checksum_mismatch', () => buildDeb(), { distribution: 'jammy', sha256: '0'.repeat(64) }],
  ]
  test.each(refusals)(
    '%s is refused with %i %s, audited, and leaves no trace',
    async (what, status, code, make, fields = { distribution: 'jammy' }, more = {}) => {
      const reply = await gate.upload(await make(), fields)
      expect([what, reply.status, reply.body]).toMatchObject([what, status, { code, ...more }])
      expect(reply.headers['x-package-status']).toBeUndefined()
      expect(await lastAudited(gate, { action: 'UPLOAD' })).toMatchObject({
        result: 'FAILURE',
        outcome: code,
        user: 'admin-person',
        request_id: reply.headers['x-request-id'],
      })
      expect(await staged(gate)).toEqual([])
      expect((await gate.call('GET', '/distributions/jammy/packages')).body).toMatchObject({ total: 0 })
    },
  )

  const rpmLead = Buffer.concat([Buffer.from('edabeedb0300', 'hex'), Buffer.alloc(4090)])
  test.runIf(formats.length > 1)('a package of another format is not refused as an invalid package', async () => {
    expect(await gate.upload(rpmLead, { distribution: 'jammy' })).toMatchObject({
      status: 400,
      body: { code: 'format_mismatch' },
    })
    const elsewhere = formats.find((format) => format.id !== 'deb')?.distributions[0]?.codename ?? ''
    expect(await gate.upload(await buildDeb(), { distribution: elsewhere })).toMatchObject({
      status: 400,
      body: { code: 'distribution_inactive' },
    })
  })

  test('the same bytes again answer 409 already_exists, other bytes of that file name 409 duplicate_conflict', async () => {
    const first = await buildDeb({ name: 'twice' })
    const other = await buildDeb({ name: 'twice', files: { other: 'bytes' } })
    await gate.upload(first, { distribution: 'noble' })
    expect(await gate.upload(first, { distribution: 'noble' })).toMatchObject({
      status: 409,
      body: { code: 'already_exists', status: 'published', sha256: sha256(first) },
    })
    expect(await gate.upload(other, { distribution: 'noble' })).toMatchObject({
      status: 409,
      body: {
        code: 'duplicate_conflict',
        status: 'published',
        existing_sha256: sha256(first),
        incoming_sha256: sha256(other),
      },
    })
    expect(await lastAudited(gate, { action: 'UPLOAD', package: 'twice' })).toMatchObject({
      result: 'FAILURE',
      outcome: 'duplicate_conflict',
    })
    expect((await gate.upload(first, { distribution: 'focal' })).body).toMatchObject({
      status: 'published',
      duplicate: false,
    })
    expect((await gate.upload(other, { distribution: 'bookworm' })).status).toBe(201)
  })

  test('of concurrent uploads of one package exactly one succeeds, with equal and with different bytes', async () => {
    const same = await buildDeb({ name: 'raced' })
    const others = await Promise.all([1, 2, 3].map((n) => buildDeb({ name: 'raced', files: { n: String(n) } })))
    const replies = await Promise.all(
      [same, same, same, ...others].map((file) => gate.upload(file, { distribution: 'focal' })),
    )
    const codes = replies.map((reply) => (reply.status === 201 ? 'won' : reply.body['code'])).sort()
    expect(codes.filter((code) => code === 'won')).toHaveLength(1)
    expect(codes.filter((code) => code === 'already_exists' || code === 'duplicate_conflict')).toHaveLength(5)
    for (const reply of replies) {
      if (reply.body['code'] === 'already_exists')
        expect(reply.body).toMatchObject({ status: 'published', sha256: expect.stringMatching(/^[0-9a-f]{64}$/) })
      if (reply.body['code'] === 'duplicate_conflict')
        expect(reply.body).toMatchObject({
          status: 'published',
          existing_sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
          incoming_sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
        })
    }
    expect((await published(gate, 'focal')).filter((entry) => entry.startsWith('raced '))).toHaveLength(1)
    expect(await staged(gate)).toEqual([])
  })

  test('concurrent uploads of different packages are all published', async () => {
    const files = await Promise.all(Array.from({ length: 8 }, (_, n) => buildDeb({ name: `together-${n}` })))
    const replies = await Promise.all(files.map((file) => gate.upload(file, { distribution: 'focal' })))
    expect(replies.map((reply) => reply.status)).toEqual(files.map(() => 201))
    expect((await published(gate, 'focal')).filter((entry) => entry.startsWith('together-'))).toHaveLength(8)
  })

  test('development without a malware engine holds or refuses a package where the settings say so', async () => {
    const put = async (on_unscanned: string) => {
      await gate.call('PATCH', '/settings/', { body: { validation: { on_unscanned, grype_scan: false } } })
      return gate.upload(await buildDeb({ name: `no-engine-${on_unscanned}` }), { distribution: 'focal' })
    }
    try {
      expect((await put('hold')).body).toMatchObject({
        ...{ status: 'pending_review', held_reason: 'unscanned', pipeline: { antivirus: 'error' } },
      })
      expect(await put('refuse')).toMatchObject({ status: 503, body: { code: 'scanner_unavailable' } })
      expect((await put('allow')).body).toMatchObject({ status: 'published', pipeline: { antivirus: 'skipped' } })
    } finally {
      await gate.call('PATCH', '/settings/', { body: { validation: { on_unscanned: 'allow', grype_scan: true } } })
    }
  })

  test('a held package answers 201 pending_review, or 202 with ?strict=true, and is not published', async () => {
    await gate.call('PATCH', '/settings/', { body: { validation: { on_unscanned: 'hold', clamav_scan: false } } })
    try {
      const held = await gate.upload(await buildDeb({ name: 'held' }), { distribution: 'focal' })
      expect([held.status, held.headers['x-package-status'], held.body]).toMatchObject([
        201,
        'pending_review',
        {
          status: 'pending_review',
          held_reason: 'unscanned',
          validation: { passed: false, cve_status: 'pending_review' },
        },
      ])
      const strict = await gate.upload(
        await buildDeb({ name: 'held-strictly' }),
        { distribution: 'focal' },
        { query: '?strict=true' },
      )
      expect([strict.status, Object.keys(strict.body).sort()]).toEqual([202, Object.keys(held.body).sort()])
      expect((await published(gate, 'focal')).filter((entry) => entry.startsWith('held'))).toEqual([])
      expect((await gate.call('GET', '/artifacts/held')).body).toMatchObject({
        manifest_status: 'pending_review',
        versions: [{ served: false, held_reason: 'unscanned' }],
      })
      expect(await lastAudited(gate, { package: 'held' })).toMatchObject({
        result: 'WARNING',
        outcome: 'pending_review',
      })
      await gate.call('PATCH', '/settings/', { body: { validation: { on_unscanned: 'refuse' } } })
      const refused = await gate.upload(await buildDeb({ name: 'refused' }), { distribution: 'focal' })
      expect(refused).toMatchObject({
        status: 503,
        body: { code: 'scan_incomplete' },
        headers: { 'retry-after': expect.stringMatching(/^[1-9]\d*$/) },
      })
      expect((await gate.call('GET', '/artifacts/refused')).status).toBe(404)
      await gate.call('PATCH', '/settings/', { body: { validation: { clamav_scan: false, grype_scan: false } } })
      const skipped = await gate.upload(await buildDeb({ name: 'skipped' }), { distribution: 'focal' })
      expect(skipped.body).toMatchObject({
        status: 'published',
        pipeline: { antivirus: 'skipped', cve_scan: 'skipped' },
      })
    } finally {
      await gate.call('PATCH', '/settings/', {
        body: { validation: { on_unscanned: 'allow', clamav_scan: true, grype_scan: true } },
      })
    }
  })
}
