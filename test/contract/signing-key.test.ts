// /settings/gpg: the signing key is shown, and replaced without invalidating signatures of the old one.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import * as openpgp from 'openpgp'
import { afterAll, expect, test } from 'vitest'
import { verifyAudit } from '../../src/verify-audit.ts'
import { buildDeb } from '../samples/deb.ts'
import { startGate } from './harness.ts'
import { lastAudited } from './packages/seen.ts'

interface Shown {
  keys: { type: string; algo: string; fingerprint: string; expires: string | null; uids: string[]; created: string }[]
  public_key_armored: string
  failed: string[]
}

// A separate service, because its key changes.
const gate = await startGate()
afterAll(() => gate.close())

const shown = async () => (await gate.call<Shown>('GET', '/settings/gpg')).body
const fileOf = (...path: string[]) => readFile(join(gate.reposDir, ...path), 'utf8')

/** @returns whether the live InRelease is signed by the key */
async function isSignedBy(armoredKey: string, codename: string): Promise<boolean> {
  const cleartextMessage = await fileOf('dists', codename, 'InRelease')
  const { signatures } = await openpgp.verify({
    message: await openpgp.readCleartextMessage({ cleartextMessage }),
    verificationKeys: await openpgp.readKey({ armoredKey }),
    // The clock of the service may be ahead.
    date: new Date(gate.clock.now().getTime() + 60_000),
  })
  return signatures[0]!.verified.catch(() => false)
}

test('an admin sees the key that signs; a second one is made only on purpose', async () => {
  const { keys, public_key_armored } = await shown()
  expect(keys).toEqual([
    {
      ...{ type: 'pub', algo: 'rsa2048', expires: null, uids: ['Contract suite'] },
      created: expect.stringMatching(/\+00:00$/),
      fingerprint: expect.stringMatching(/^[0-9A-F]{40}$/),
      key_id: keys[0]!.fingerprint.slice(-16),
    },
  ])
  expect(public_key_armored).toBe(await fileOf('keys', 'gpg.key'))
  expect(JSON.stringify(await shown())).not.toContain('PRIVATE')
  for (const body of [undefined, {}, { rotate: false }])
    expect(await gate.call('POST', '/settings/gpg/generate', { body })).toMatchObject({
      status: 409,
      body: { code: 'signing_key_exists', detail: expect.stringContaining(keys[0]!.fingerprint) },
    })
  expect(await shown()).toMatchObject({ keys })
})

test('a new key signs all distributions from now on, and what the old one signed is still verified', async () => {
  const reply = await gate.upload(await buildDeb({ name: 'kept' }), { distribution: 'jammy' })
  expect(reply.status).toBe(201)
  await gate.call('POST', '/distributions/init')
  const old = await shown()

  const { status, body } = await gate.call<Shown>('POST', '/settings/gpg/generate', { body: { rotate: true } })
  expect([status, body.failed]).toEqual([200, []])
  expect(body.keys[0]).toMatchObject({ algo: 'rsa4096', uids: ['Gatehouse repository signing key'] })
  expect(body.keys[0]!.fingerprint).not.toBe(old.keys[0]!.fingerprint)
  for (const codename of ['jammy', 'bookworm']) {
    expect(await isSignedBy(body.public_key_armored, codename)).toBe(true)
    expect(await isSignedBy(old.public_key_armored, codename)).toBe(false)
  }
  expect(await fileOf('keys', 'gpg.key')).toBe(body.public_key_armored)
  const forPackages = await fileOf('keys', 'packages.key')
  expect(forPackages.startsWith(body.public_key_armored.trim())).toBe(true)
  expect(forPackages.match(/BEGIN PGP/g)).toHaveLength(2)
  expect(await fileOf('gnupg', 'former-keys.asc')).not.toContain('PRIVATE')
  expect(await lastAudited(gate, { action: 'GPG_GENERATE' })).toMatchObject({
    ...{ result: 'SUCCESS', user: 'admin-person' },
    extra: { former: old.keys[0]!.fingerprint, fingerprint: body.keys[0]!.fingerprint },
  })
  expect((await gate.call('GET', '/distributions/')).body).toMatchObject({
    distributions: expect.arrayContaining([
      expect.objectContaining({ codename: 'jammy', signed_by: body.keys[0]!.fingerprint }),
    ]),
  })
  // The stop signs the end of the audit log.
  await gate.stop()
  const complaints: string[] = []
  const verified = await verifyAudit(
    [join(gate.reposDir, 'audit')],
    {},
    { print: () => {}, complain: (line) => void complaints.push(line) },
  )
  expect([verified, complaints]).toEqual([0, []])
})
