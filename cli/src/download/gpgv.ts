// Verifies OpenPGP signatures with gpgv, where the machine has it.
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** The bytes of an armored key (RFC 9580, section 6.2), which gpgv reads in no other form. */
export function dearmored(armored: string): Buffer {
  const [, base64 = ''] =
    /-----BEGIN PGP PUBLIC KEY BLOCK-----\n(?:[^\n]+: [^\n]*\n)*\n([^-]*?)(?:\n=[\w+/]{4})?\n-----END/.exec(
      armored.replaceAll('\r', ''),
    ) ?? []
  return Buffer.from(base64, 'base64')
}

/**
 * @param files the signed file, or the detached signature and then the file
 * @returns null when there is no gpgv
 */
export async function isSigned(
  armoredKey: string,
  files: readonly Buffer[],
  signal: AbortSignal,
): Promise<boolean | null> {
  const directory = await mkdtemp(join(tmpdir(), 'gatehouse-'))
  try {
    const paths = files.map((_, i) => join(directory, `file${i}`))
    const key = join(directory, 'key.gpg')
    await writeFile(key, dearmored(armoredKey))
    for (const [i, bytes] of files.entries()) await writeFile(paths[i] ?? '', bytes)
    await promisify(execFile)('gpgv', ['--homedir', directory, '--keyring', key, ...paths], { signal })
    return true
  } catch (error) {
    if (signal.aborted) throw error
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? null : false
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}
