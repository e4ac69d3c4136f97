// What each published repomd.xml states about the files beside it, and whether our key signed it.
import { isProblem } from '../../domain/problem.ts'
import type { Distribution } from '../../domain/package.ts'
import type { IndexClaims, OwnSignatures } from '../format.ts'
import { REPODATA } from './render.ts'
import { parseRepomd } from './repomd.ts'

export async function readClaims(
  { architectures }: Distribution,
  read: (path: string) => Promise<Buffer | null>,
  signatures: OwnSignatures,
): Promise<IndexClaims> {
  const all = await Promise.all(architectures.map((arch) => claimsOf(arch, read, signatures)))
  return { roots: all.flatMap(({ roots }) => roots), listed: all.flatMap(({ listed }) => listed) }
}

async function claimsOf(
  arch: string,
  read: (path: string) => Promise<Buffer | null>,
  signatures: OwnSignatures,
): Promise<IndexClaims> {
  const path = `${arch}/${REPODATA}/repomd.xml`
  const [repomd, signature, key] = await Promise.all([path, `${path}.asc`, `${path}.key`].map(read))
  const fits = repomd && signature ? await signatures.detached(repomd, signature) : true
  const isOurs = key?.toString() === signatures.openpgpArmored
  const listed = repomd ? listedIn(repomd.toString(), arch) : []
  return {
    roots: [
      // A signature that does not match shows that one of the two files is damaged, not which one.
      { path, fault: !repomd ? 'missing' : fits && listed ? null : 'wrong_content' },
      { path: `${path}.asc`, fault: signature ? null : 'missing' },
      { path: `${path}.key`, fault: !key ? 'missing' : isOurs ? null : 'wrong_content' },
    ],
    listed: (fits && listed) || [],
  }
}

/** @returns null for a text that is not a repomd.xml */
function listedIn(text: string, arch: string): IndexClaims['listed'] | null {
  try {
    return parseRepomd(text, 'repomd.xml').flatMap(({ type, path, sizeBytes, digest }) => {
      if (!digest || sizeBytes === null) return []
      const name = path.slice(`${REPODATA}/`.length)
      const byHash = type === 'updateinfo' ? digest.hex : name
      return [{ path: `${arch}/${path}`, sizeBytes, sha256: digest.hex, byHash }]
    })
  } catch (error) {
    if (isProblem(error, 'upstream_error')) return null
    throw error
  }
}
