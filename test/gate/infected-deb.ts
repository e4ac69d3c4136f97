// Builds packages with infected members, packed by the real programs so that the raw file does not contain the signature.
import { execFileSync } from 'node:child_process'
import { buildAr } from '../samples/ar.ts'
import { controlText } from '../samples/deb.ts'
import { buildTar, type SampleEntry } from '../samples/tar.ts'

/** The compressions of deb(5): suffix and program, with no program for uncompressed archives. */
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
  /** content by path; parent directories must exist on the system or be created by dpkg */
  files?: Record<string, Buffer | string>
}

export function packedDeb({ name, version = '1', packing, scripts = {}, files = {} }: PackedDeb): Buffer<ArrayBuffer> {
  const suffix = packing === 'none' ? '' : `.${packing}`
  const entries = (all: Record<string, Buffer | string>, mode: number): SampleEntry[] =>
    Object.entries(all).map(([path, content]) => ({ name: `./${path}`, content, mode }))
  // Filler that compresses well, because some programs store incompressible input unchanged.
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
