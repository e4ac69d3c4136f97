// Which packages an architecture's index takes: those for it, for compatible older architectures, and for all.
import type { Distribution } from '../domain/package.ts'
import type { Archs } from './intake-format.ts'

/** An architecture with its older ones, without those of packages for all architectures. */
export function ownArchs({ olderArchs }: Archs, architecture: string): string[] {
  return [architecture, ...(olderArchs?.[architecture] ?? [])]
}

/** The architectures of packages that clients of one architecture are offered. */
export function archsIn(format: Archs, architecture: string): string[] {
  return [...ownArchs(format, architecture), ...format.neutralArchs]
}

/** The architectures of packages that a distribution takes. */
export function archsOf(format: Archs, { architectures }: Pick<Distribution, 'architectures'>): string[] {
  return [...architectures.flatMap((one) => ownArchs(format, one)), ...format.neutralArchs]
}

/** Architectures whose packages can meet what a package needs. */
export interface Reach {
  /** those of the index with the package; for a package for all architectures, those of its distribution */
  own: readonly string[]
  /** `all`, `noarch` */
  neutral: readonly string[]
}

export function reachOf(
  { arch }: { arch: string },
  format: Archs,
  { architectures }: Pick<Distribution, 'architectures'>,
): Reach {
  const indexes = architectures.map((one) => ownArchs(format, one))
  const having = format.neutralArchs.includes(arch) ? indexes : indexes.filter((archs) => archs.includes(arch))
  return { own: having.length > 0 ? having.flat() : [arch], neutral: format.neutralArchs }
}

/** Whether a client can be offered packages of both architectures. */
export function areTogether(format: Archs, a: string, b: string): boolean {
  if (a === b || [a, b].some((arch) => format.neutralArchs.includes(arch))) return true
  return Object.keys(format.olderArchs ?? {}).some((one) =>
    [a, b].every((arch) => ownArchs(format, one).includes(arch)),
  )
}
