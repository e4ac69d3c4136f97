// Checks the service's own files: its keys, the public keys that clients fetch, and the settings.
import { createPublicKey } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { join, relative } from 'node:path'
import type { DriftArea } from '../../domain/drift.ts'
import type { Signers } from '../../formats/intake-format.ts'
import { isMissing } from '../../kernel/files.ts'
import { readAuditKey, readPublicKeys } from '../../publish/signing/audit-keys.ts'
import type { Paths } from '../../store/paths.ts'
import { CHANGING, faulty, SOUND, suspectOf, type Confirm, type Inspection, type Verdict } from './inspection.ts'

export interface OwnFilesDeps {
  paths: Paths
  keys: Signers
}

export interface OwnFile {
  area: DriftArea
  path: string
  /** closed to other users */
  isPrivate: boolean
  /** false, or an error, when the content differs from what the service loaded */
  isRight(text: string): boolean | Promise<boolean>
  /** the content that repairs a missing or wrong file; null when only a backup has it */
  content: string | null
}

export function ownFiles(deps: OwnFilesDeps): OwnFile[] {
  const {
    paths,
    keys: { openpgp, apk },
  } = deps
  const secret = (name: string, isRight: OwnFile['isRight']): OwnFile => ({
    ...{ area: 'keys', path: join(paths.gnupg, name), isPrivate: true, isRight, content: null },
  })
  const shown = (name: string, content: string): OwnFile => ({
    ...{ area: 'keys', path: join(paths.keys, name), isPrivate: false, isRight: (text) => text === content, content },
  })
  const pemOf = (text: string) => createPublicKey(text).export({ type: 'spki', format: 'pem' })
  const fingerprintOf = async (path: string) => (await readPublicKeys(path))[0]?.getFingerprint().toUpperCase()
  return [
    secret('signing-key.asc', async () => {
      return (await fingerprintOf(join(paths.gnupg, 'signing-key.asc'))) === openpgp.fingerprint.toUpperCase()
    }),
    secret('svc.rsa', (text) => pemOf(text) === apk.publicKeyPem),
    secret('audit.key', async () => (await readAuditKey(paths.gnupg)) !== ''),
    shown('gpg.key', openpgp.publicKeyArmored),
    shown(apk.keyName, apk.publicKeyPem),
    {
      ...{ area: 'settings', path: paths.settings, isPrivate: true, content: null },
      isRight: (text) => typeof JSON.parse(text) === 'object',
    },
  ]
}

export function serviceFiles(deps: OwnFilesDeps): Inspection {
  return {
    name: 'keys and settings',
    async *suspects() {
      const files = ownFiles(deps)
      const suspects = []
      for (const file of files) {
        const verdict = await verdictOn(deps.paths, file)
        if (verdict.state === 'faulty') suspects.push(verdict.suspect)
      }
      yield { suspects, checked: files.length, after: '' }
    },
  }
}

export function confirmOwn(deps: OwnFilesDeps): Confirm {
  return async ({ subject }) => {
    const file = ownFiles(deps).find(({ path }) => relative(deps.paths.root, path) === subject)
    if (!file) return SOUND
    const first = await verdictOn(deps.paths, file)
    // Settings are replaced by a rename: a file that was just being changed is right at the second check.
    const second = await verdictOn(deps.paths, file)
    return JSON.stringify(first) === JSON.stringify(second) ? second : CHANGING
  }
}

async function verdictOn(paths: Paths, file: OwnFile): Promise<Verdict> {
  const suspect = (fault: 'missing' | 'wrong_mode' | 'wrong_content', detail: string) =>
    faulty(suspectOf(file.area, relative(paths.root, file.path), fault, detail))
  try {
    const text = await readFile(file.path, 'utf8')
    const mode = (await stat(file.path)).mode & 0o777
    if (!(await isRight(file, text))) return suspect('wrong_content', 'not what the service loaded when it started')
    if (file.isPrivate && (mode & 0o077) !== 0)
      return suspect('wrong_mode', `mode ${mode.toString(8)}; other users must not read it`)
    if (!file.isPrivate && (mode & 0o044) !== 0o044)
      return suspect('wrong_mode', `mode ${mode.toString(8)}; clients fetch it, so all users must be able to read it`)
    return SOUND
  } catch (error) {
    if (!isMissing(error)) return suspect('wrong_content', 'it cannot be read')
    return suspect('missing', 'the service loaded it when it started')
  }
}

async function isRight(file: OwnFile, text: string): Promise<boolean> {
  try {
    return await file.isRight(text)
  } catch {
    return false
  }
}
