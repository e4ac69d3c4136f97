import { expect, test } from 'vitest'
import { verdictOf } from '../domain/decide.ts'
import type { SignatureVerdict } from '../formats/intake-format.ts'
import type { Settings } from '../domain/settings.ts'
import { signatureStep, type SourceKeys } from './signature.ts'
import type { Candidate } from './step.ts'

const OURS = 'our key'
const THEIRS = { fingerprint: 'FF', armored: 'their key' }

/** Runs the step on a package that verifies as given for each key. */
async function run(
  by: Partial<Record<string, SignatureVerdict['outcome']>>,
  source: typeof THEIRS | null,
  isKept = true,
) {
  const published: string[] = []
  const sourceKeys: SourceKeys = {
    find: async () => source,
    publish: async ({ fingerprint }) => void published.push(fingerprint),
  }
  const format = {
    repoFormat: 'rpm',
    verifySignature: async (_: string, [key = '']: readonly string[]) => ({ outcome: by[key], keyId: 'AB' }),
  }
  const signers = { openpgp: { publicKeyArmored: OURS } } as never
  const step = signatureStep({ signers, sourceKeys, clock: { now: () => new Date() }, newPath: () => '' })
  const settings = {
    validation: { sign_packages: false, gpg_required: false, keep_vendor_signatures: isKept },
  } as Settings
  const { seen } = await step.run({ path: 'a', format } as unknown as Candidate, settings)
  const { outcome, result } = verdictOf(settings, { ...seen, check: 'gpg' }, true)
  return [outcome, result, published]
}

test.each([
  ['our key', { [OURS]: 'verified' }, THEIRS, ['pass', 'signed', []]],
  ['the key of a source', { [OURS]: 'unknown_key', [THEIRS.armored]: 'verified' }, THEIRS, ['pass', 'signed', ['FF']]],
  [
    'nobody, in the name of a source',
    { [OURS]: 'unknown_key', [THEIRS.armored]: 'invalid' },
    THEIRS,
    ['refuse', 'invalid', []],
  ],
  ['a key that no source has', { [OURS]: 'unknown_key' }, null, ['warn', 'unverified', []]],
  ['nobody', { [OURS]: 'unsigned' }, THEIRS, ['warn', 'unsigned', []]],
] as const)('a package signed by %s', async (_, by, source, expected) => {
  expect(await run(by, source)).toEqual(expected)
})

test('a key of a source is given to clients only where its signatures are kept', async () => {
  const bySource = { [OURS]: 'unknown_key', [THEIRS.armored]: 'verified' } as const
  expect(await run(bySource, THEIRS, true)).toEqual(['pass', 'signed', ['FF']])
  // Neither kept nor replaced: clients need a key that they do not get here.
  expect(await run(bySource, THEIRS, false)).toEqual(['warn', 'signed', []])
  expect(await run({ [OURS]: 'verified' }, THEIRS, false)).toEqual(['pass', 'signed', []])
})
