// The repository's OpenPGP key in the places where others find it, and its replacement by a new one.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TaskKind } from '../domain/tasks.ts'
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
  /** Replaces the key, then signs all distributions again. @returns those that failed */
  replace(): Promise<string[]>
  /**
   * Completes a replacement that a crash interrupted, or that began with a start with another key file.
   * @returns the distributions that failed
   */
  finish(): Promise<string[]>
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
      await keys.replaceOpenpgp(deps.clock.now())
      await prepare()
      return signAgain()
    },
    finish: async () => ((await isReplaced()) ? signAgain() : []),
  }
}

export const SIGNING_KEY = 'signing_key'

export interface KeyReplacement {
  former: string
  fingerprint: string
  /** distributions that are not signed again */
  failed: string[]
}

/** The task that replaces the signing key. One that was interrupted does not replace the new key again. */
export function signingKeyKind(
  keys: Pick<Keys, 'facts' | 'openpgp'>,
  files: Pick<SigningKeyFiles, 'replace' | 'finish'>,
): TaskKind {
  return {
    kind: SIGNING_KEY,
    lane: 'maintenance',
    leaderOnly: true,
    async run({ cursor, save }) {
      // Another process may have replaced the key since this one signed last.
      await keys.facts()
      const begun = cursor as { former: string } | null
      const former = begun?.former ?? keys.openpgp.fingerprint
      if (!begun) await save({ former })
      const failed = keys.openpgp.fingerprint === former ? await files.replace() : await files.finish()
      return { former, fingerprint: keys.openpgp.fingerprint, failed }
    },
  }
}
