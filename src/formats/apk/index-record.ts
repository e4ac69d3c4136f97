// One record of APKINDEX, with the facts that a package's own .PKGINFO would state. Pure.
import { invalid } from '../archive/limits.ts'
import { isProblem } from '../../domain/problem.ts'
import { quote } from '../bounds.ts'
import { refused, type CatalogItem } from '../catalog.ts'
import { decodePkginfo, type PkginfoField } from './pkginfo.ts'
import { apkFilename, factsOf } from './read.ts'

/** The letters of apk-package(5) with their keys in .PKGINFO; other letters are not about the package. */
const KEYS: Readonly<Record<string, string>> = {
  P: 'pkgname',
  V: 'pkgver',
  A: 'arch',
  I: 'size',
  T: 'pkgdesc',
  U: 'url',
  L: 'license',
  o: 'origin',
  m: 'maintainer',
  t: 'builddate',
  c: 'commit',
  k: 'provider_priority',
  D: 'depend',
  p: 'provides',
  i: 'install_if',
  r: 'replaces',
}
/** `Q1` and the base64 of 20 bytes. */
const SHA1 = /^Q1([A-Za-z0-9+/]{27}=)$/

/**
 * @param index its name, for error sentences
 * @throws Problem('upstream_error') for a record without a size or a checksum
 */
export function readIndexRecord(record: Uint8Array, index: string): CatalogItem {
  const lines = decodePkginfo(record)
    .split('\n')
    .map((line) => [line.slice(0, 1), line.slice(2), line.charAt(1)] as const)
  const valueOf = (letter: string) => lines.find(([key]) => key === letter)?.[1] ?? ''
  const name = valueOf('P') || null
  const what = `${index}: the record of ${name ? quote(name) : 'a package'}`
  const sha1 = SHA1.exec(valueOf('C'))?.[1]
  if (sha1 === undefined) throw refused('malformed', `${what} has no checksum that begins with Q1`)
  if (!/^[0-9]{1,15}$/.test(valueOf('S'))) throw refused('malformed', `${what} has no size`)
  try {
    const letters = lines.map(([letter]) => letter)
    const twice = letters.find((letter, at) => KEYS[letter] !== undefined && letters.indexOf(letter) !== at)
    if (twice !== undefined) throw invalid(`the record has the field ${twice} twice`)
    if (lines.some(([letter, value, colon]) => letter !== '' && (colon !== ':' || /[\x00-\x1f\x7f]/.test(value))))
      throw invalid('the record has a line that is no field')
    const fields = lines.flatMap(([letter, value]): PkginfoField[] => {
      const key = KEYS[letter]
      return key === undefined || value === '' ? [] : [[key, value]]
    })
    const { signatures: _signatures, record: pkginfo, ...facts } = factsOf(fields)
    return {
      ...facts,
      installedSizeKb: Math.ceil(pkginfo.installedBytes / 1024),
      // apk requests it from the directory of the package's architecture, even when another architecture's index lists it.
      path: `${facts.arch}/${apkFilename(facts)}`,
      sizeBytes: Number(valueOf('S')),
      digest: { algorithm: 'control-sha1', hex: Buffer.from(sha1, 'base64').toString('hex') },
    }
  } catch (error) {
    if (isProblem(error, 'invalid_package')) return { name, unreadable: error.detail }
    throw error
  }
}
