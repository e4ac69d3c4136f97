// The repository's OpenPGP key in the places where others find it, and its replacement by a new one.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Problem } from '../domain/problem.ts'
import type { Clock } from '../kernel/clock.ts'
import { ensureContent, ifMissing } from '../kernel/files.ts'
import { FORMER_KEYS_FILE } from './signing/key-names.ts'
import type { Keys } from './signing/keys.ts'
import type { Paths } from '../store/paths.ts'
import type { PackageKeys } from './package-keys.ts'
import type { Publisher } from './publisher.ts'

export interface SigningKeyFiles {
  /** Writes the public files. The file that clients fetch is not written while indexes are signed with another key. */
  prepare(): Promise<void>
  /** Replaces the key, then signs all distributions again. @returns those that failed @throws Problem `already_running` */
  replace(): Promise<string[]>
  /** Completes a replacement that a crash interrupted, or that began with a start with another key file. */
  finish(): Promise<void>
}

export function createSigningKeyFiles(deps: {
  keys: Keys
  clock: Clock
  paths: Pick<Paths, 'keys' | 'audit'>
  packageKeys: Pick<PackageKeys, 'restore'>
  publisher: Pick<Publisher, 'signAgain'>
}): SigningKeyFiles {
  const { keys, paths } = deps
  /** Written last: while it contains another key, the indexes are not all signed with the present key. */
  const path = join(paths.keys, 'gpg.key')
  let running = false

  async function isReplaced(): Promise<boolean> {
    const own = keys.openpgp.publicKeyArmored
    return (await readFile(path, 'utf8').catch(ifMissing(own))) !== own
  }

  async function prepare(): Promise<void> {
    const former = keys.formerArmored()
    if (former !== '') await ensureContent(join(paths.keys, FORMER_KEYS_FILE), former)
    // Beside the checkpoints, so that a copy of the directory is enough to verify it.
    await ensureContent(join(paths.audit, 'gpg.key'), `${keys.openpgp.publicKeyArmored}${former}`, 0o600)
    if (!(await isReplaced())) await ensureContent(path, keys.openpgp.publicKeyArmored)
  }

  async function signAgain(): Promise<string[]> {
    await deps.packageKeys.restore()
    const failed = await deps.publisher.signAgain()
    await ensureContent(path, keys.openpgp.publicKeyArmored)
    return failed
  }

  return {
    prepare,
    async replace() {
      if (running) throw new Problem('already_running', 'the signing key is being replaced')
      running = true
      try {
        await keys.replaceOpenpgp(deps.clock.now())
        await prepare()
        return await signAgain()
      } finally {
        running = false
      }
    },
    async finish() {
      if (await isReplaced()) await signAgain()
    },
  }
}
