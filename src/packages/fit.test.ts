import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import * as openpgp from 'openpgp'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sampleSigners } from '../../test/conformance.ts'
import { buildDeb } from '../../test/samples/deb.ts'
import { buildRpm } from '../../test/samples/rpm.ts'
import { debFormat } from '../formats/deb/index.ts'
import type { PackageFormat } from '../formats/format.ts'
import type { Signers } from '../formats/intake-format.ts'
import { rpmFormat } from '../formats/rpm/index.ts'
import { requireSigned } from './fit.ts'

const AT = new Date('2026-11-02T00:00:00Z')
let directory: string
let [own, foreign]: { publicKey: string; signers: Signers }[] = []

async function createKey() {
  const { privateKey, publicKey } = await openpgp.generateKey({
    ...{ userIDs: [{ name: 'vendor' }], subkeys: [], type: 'rsa', rsaBits: 2048, format: 'object' },
    date: new Date('2026-01-01T00:00:00Z'),
  })
  const detachBinary: Signers['openpgp']['detachBinary'] = async (content, date) => {
    const message = await openpgp.createMessage({
      binary: content instanceof Uint8Array ? content : await buffer(content),
    })
    return openpgp.sign({ message, signingKeys: privateKey, detached: true, date, format: 'binary' })
  }
  const signers = { ...sampleSigners, openpgp: { ...sampleSigners.openpgp, detachBinary } }
  return { publicKey: publicKey.armor(), signers }
}

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'fit-'))
  ;[own, foreign] = await Promise.all([createKey(), createKey()])
})
afterAll(() => rm(directory, { recursive: true }))

let count = 0
async function candidate(format: PackageFormat, signers?: Signers) {
  const plain = join(directory, 'plain')
  await writeFile(plain, format === rpmFormat ? await buildRpm() : await buildDeb())
  const signed = join(directory, `signed-${count++}`)
  if (signers) await format.sign?.(plain, signed, signers, AT)
  const path = signers ? signed : plain
  return { path, format, facts: await format.read(path) }
}

test('a package of an index that nothing vouches for is taken when a key of its source has signed it', async () => {
  await expect(requireSigned(await candidate(rpmFormat, own!.signers), [own!.publicKey])).resolves.toBeUndefined()
})

test.each<[string, PackageFormat, () => Signers | undefined, string, RegExp]>([
  ['is not signed', rpmFormat, () => undefined, 'unsigned', /sample 1\.0-1 is not signed/],
  ['another key has signed', rpmFormat, () => foreign!.signers, 'signature', /none of the source's keys/],
  ['is of a format without signatures', debFormat, () => undefined, 'unsigned', /is not signed/],
])('one that %s is refused', async (_, format, signers, reason, detail) => {
  const error: unknown = await requireSigned(await candidate(format, signers()), [own!.publicKey]).catch(
    (thrown: unknown) => thrown,
  )
  expect(error).toMatchObject({ code: 'upstream_error', extra: { reason }, detail: expect.stringMatching(detail) })
})
