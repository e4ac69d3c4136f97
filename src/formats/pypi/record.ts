// What a Python package file says beyond the facts of every package; its listing is rendered from it.

/** Which file of a version it is. */
export type PypiFile =
  | { kind: 'sdist'; archive: 'tar.gz' | 'zip' }
  /** tags are compressed sets: `py2.py3`, `none`, `manylinux_2_17_x86_64.manylinux2014_x86_64` */
  | { kind: 'wheel'; build: string | null; python: string; abi: string; platform: string }

export interface PypiRecord {
  file: PypiFile
  /** as the package spells them */
  rawName: string
  rawVersion: string
  requiresPython: string | null
  requiresDist: string[]
  extras: string[]
  classifiers: string[]
  /**
   * the whole core metadata of a wheel, which clients may read in place of the wheel (PEP 658); its text is null while only an upstream
   * has it; null for a source distribution
   */
  metadata: { text: string | null; sha256: string } | null
}
