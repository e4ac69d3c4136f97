// Removes generations, and the files under `by-hash` that generations shared by hard links.
import type { Stats } from 'node:fs'
import { lstat, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { ifMissing } from '../../kernel/files.ts'
import { entriesBelow, namesIn } from '../../kernel/files-below.ts'
import { createPacer } from '../../kernel/pacer.ts'
import type { Claim } from './cleaning-claim.ts'

/** @param shared receives the inodes of files that also had another name */
export async function removeGeneration(directory: string, shared: Set<number>): Promise<void> {
  for await (const { parentPath, name } of entriesBelow(directory)) {
    const info = await lstat(join(parentPath, name))
    if (info.isFile() && info.nlink > 1) shared.add(info.ino)
  }
  await rm(directory, { recursive: true, force: true })
}

/** Removes files that generations share by hard links and that have a single name left: no generation contains them. */
export async function removeUnlinked(
  directory: string,
  claim: Claim,
  mayGo: (info: Stats, name: string) => boolean,
): Promise<void> {
  const pace = createPacer()
  for (const name of await namesIn(directory)) {
    await pace()
    const path = join(directory, name)
    const info = await stat(path).catch(ifMissing(null))
    if (!info?.isFile() || info.nlink > 1 || !mayGo(info, name)) continue
    claim.check()
    await rm(path, { force: true })
  }
}
