// Packages with something in them that a scanner finds, packed by the real programs so that the raw file does not show it.
import { execFileSync } from 'node:child_process'
import { buildAr } from '../samples/ar.ts'
import { controlText } from '../samples/deb.ts'
import { buildTar, type SampleEntry } from '../samples/tar.ts'

/** What `deb(5)` names: suffix to the program that makes it; no program for archives stored as they are. */
export const PACKERS = {
  none: [],
  gz: ['gzip', '-9n'],
  xz: ['xz', '-6'],
  zst: ['zstd', '-q', '-19'],
  bz2: ['bzip2', '-9'],
} as const
export type Packing = keyof typeof PACKERS

export interface PackedDeb {
  name: string
  version?: string
  packing: Packing
  /** maintainer scripts */
  scripts?: Record<string, Buffer | string>
  /** path to content; the directories above each must be there already or be made by apt */
  files?: Record<string, Buffer | string>
}

export function packedDeb({ name, version = '1', packing, scripts = {}, files = {} }: PackedDeb): Buffer {
  const suffix = packing === 'none' ? '' : `.${packing}`
  const entries = (all: Record<string, Buffer | string>, mode: number): SampleEntry[] =>
    Object.entries(all).map(([path, content]) => ({ name: `./${path}`, content, mode }))
  // Enough that compresses, for a program that finds nothing to compress stores what it is given.
  const filler = { 'usr/share/filler': 'the same line again\n'.repeat(500) }
  const control = buildTar([{ name: './control', content: controlText({ name, version }) }, ...entries(scripts, 0o755)])
  const data = buildTar([{ name: './' }, ...entries({ ...filler, ...files }, 0o644)])
  return buildAr([
    { name: 'debian-binary', content: '2.0\n' },
    { name: `control.tar${suffix}`, content: pack(control, packing) },
    { name: `data.tar${suffix}`, content: pack(data, packing) },
  ])
}

function pack(tar: Buffer, packing: Packing): Buffer {
  const [program, ...args] = PACKERS[packing]
  return program ? execFileSync(program, [...args, '-c'], { input: tar, maxBuffer: 1024 ** 3 }) : tar
}
