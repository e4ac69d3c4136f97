// The key that signs what listeners know about access. Its public half lies where listeners read it.
import { join } from 'node:path'
import { ensureContent } from '../../kernel/files.ts'
import { newFactsKey, publicFactsKey } from '../../serve/access/facts.ts'
import type { Paths } from '../../store/paths.ts'
import { readOrCreate } from '../../publish/signing/key-file.ts'
import { ACCESS_KEY_FILE, ACCESS_KEY_NAME } from '../../publish/signing/key-names.ts'

/** Loads the key from `gnupg/`, and creates it at the first start. @returns PEM */
export async function openAccessKey({ gnupg, keys }: Pick<Paths, 'gnupg' | 'keys'>): Promise<string> {
  const key = await readOrCreate(join(gnupg, ACCESS_KEY_FILE), async () => newFactsKey())
  await ensureContent(join(keys, ACCESS_KEY_NAME), publicFactsKey(key))
  return key
}
