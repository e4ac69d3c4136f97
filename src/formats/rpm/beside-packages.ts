// Counts what an rpm repository has besides packages, which nothing reads yet, so that people know what they miss.
import { decompress, detectCompression } from '../archive/compression.ts'
import type { NotCarried } from '../../domain/not-carried.ts'
import { isProblem } from '../../domain/problem.ts'
import type { RepositoryIo } from '../catalog.ts'
import type { RepomdFile } from './repomd.ts'

/** AlmaLinux 9 AppStream has 0.6 MB of modules, 0.2 MB of groups and 1.5 MB of advisories; larger ones are not counted. */
const MOST_BYTES = 8 * 1024 ** 2
const MOST_OPEN_BYTES = 128 * 1024 ** 2

/** By type in repomd.xml; the text that each element begins with. */
const KINDS: readonly { types: readonly string[]; what: NotCarried['what']; token: string | null }[] = [
  { types: ['modules'], what: 'modules', token: 'document: modulemd\n' },
  { types: ['group', 'group_gz', 'group_xz', 'group_zst'], what: 'groups', token: '<group>' },
  { types: ['updateinfo'], what: 'advisories', token: '<update ' },
  { types: ['productid'], what: 'products', token: null },
]

export async function besidePackages(
  files: readonly RepomdFile[],
  io: Pick<RepositoryIo, 'optional'>,
): Promise<NotCarried[]> {
  const found: NotCarried[] = []
  for (const { types, what, token } of KINDS) {
    const file = files.find(({ type }) => types.includes(type))
    if (!file) continue
    const { path, sizeBytes } = file
    const isSmall = path !== '' && sizeBytes !== null && sizeBytes <= MOST_BYTES
    const content = token !== null && isSmall ? await io.optional(path, MOST_BYTES) : null
    const count = content === null || token === null ? null : await occurrences(content, token)
    if (count !== 0) found.push({ what, count, names: [] })
  }
  return found
}

/** How often a text occurs in a document, which may be compressed; null if it cannot be read. */
async function occurrences(content: Uint8Array, token: string): Promise<number | null> {
  const once = (async function* () {
    yield content
  })()
  let count = 0
  let rest = ''
  try {
    for await (const piece of decompress(once, detectCompression(content), { maxOutputBytes: MOST_OPEN_BYTES })) {
      const text = rest + Buffer.from(piece).toString('latin1')
      for (let at = text.indexOf(token); at !== -1; at = text.indexOf(token, at + token.length)) count++
      // Shorter than `token`, so it contains nothing that was counted already.
      rest = text.slice(Math.max(0, text.length - token.length + 1))
    }
    return count
  } catch (error) {
    if (isProblem(error, 'invalid_package')) return null
    throw error
  }
}
