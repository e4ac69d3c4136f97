// The authorities that certificates and logs of Sigstore are verified with.
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { isObject, objectAt, objectsAt, stringAt } from '../../domain/json.ts'

/**
 * That of Sigstore's public services comes with its library, so that nothing is fetched.
 * @param path of the trusted root of another Sigstore; null for the public one
 * @returns its JSON @throws Error with a sentence for a file that is none
 */
export async function readTrustedRoot(path: string | null): Promise<string> {
  const text = path === null ? shippedRoot() : await readFile(path, 'utf8')
  let root: unknown
  try {
    root = JSON.parse(text)
  } catch (error) {
    throw new Error(`${path} is not JSON`, { cause: error })
  }
  const isWhole = isObject(root) && ['certificateAuthorities', 'tlogs'].every((key) => objectsAt(root, key).length > 0)
  if (!isWhole) throw new Error(`${path} is no trusted root of Sigstore: it names no authority or no log`)
  return text
}

function shippedRoot(): string {
  const seeds: unknown = createRequire(import.meta.url)('@sigstore/tuf/seeds.json')
  const [seed] = isObject(seeds) ? Object.values(seeds) : []
  const encoded = isObject(seed) ? stringAt(objectAt(seed, 'targets'), 'trusted_root.json') : null
  if (encoded === null) throw new Error('the library of Sigstore brings no trusted root')
  return Buffer.from(encoded, 'base64').toString('utf8')
}
