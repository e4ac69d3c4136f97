// What a published Release states about the files of its generation, and whether our key signed it.
import { isProblem } from '../../domain/problem.ts'
import type { Distribution } from '../../domain/package.ts'
import type { IndexClaims, OwnSignatures } from '../format.ts'
import { parseRelease } from './release.ts'

/** `Release` and `InRelease` have the same text: if one is damaged, the other one shows which. */
export async function readClaims(
  _distribution: Distribution,
  read: (path: string) => Promise<Buffer | null>,
  signatures: OwnSignatures,
): Promise<IndexClaims> {
  const [release, detached, clearsigned] = await Promise.all(['Release', 'Release.gpg', 'InRelease'].map(read))
  const signedText = clearsigned ? await signatures.cleartext(clearsigned) : null
  const isSigned = Boolean(release && detached && (await signatures.detached(release, detached)))
  const plainText = release?.toString() ?? null
  const trusted = isSigned ? plainText : (signedText ?? plainText)
  const isSame = (text: string | null) => text !== null && trusted !== null && text.trimEnd() === trusted.trimEnd()
  const isReleaseGood = isSigned || (signedText !== null && isSame(plainText))
  const roots: IndexClaims['roots'] = [
    { path: 'InRelease', fault: faultOf(clearsigned, isSame(signedText)) },
    { path: 'Release', fault: faultOf(release, isReleaseGood) },
    // If the Release is damaged, the signature is not at fault.
    { path: 'Release.gpg', fault: faultOf(detached, isSigned || !isReleaseGood) },
  ]
  return { roots, listed: trusted === null ? [] : listedIn(trusted) }
}

function faultOf(file: Buffer | null | undefined, isGood: boolean) {
  return file ? (isGood ? null : 'wrong_content') : 'missing'
}

function listedIn(text: string): IndexClaims['listed'] {
  try {
    const { files } = parseRelease(text, 'Release')
    return [...files].flatMap(([path, { sizeBytes, digest }]) =>
      // The plain form of a compressed file is listed but not written.
      files.has(`${path}.gz`) ? [] : [{ path, sizeBytes, sha256: digest.hex, byHash: digest.hex }],
    )
  } catch (error) {
    // Neither signature matches then, which is reported.
    if (isProblem(error, 'upstream_error')) return []
    throw error
  }
}
