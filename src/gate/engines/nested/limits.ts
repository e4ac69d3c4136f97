// What unpacking the archives inside one package may cost.
import type { EngineLimits } from '../clamav/limits.ts'

/** What unpacking one package may cost; files beyond it are skipped and named. */
export interface NestedLimits {
  /** containers inside each other */
  depth: number
  /** total unpacked bytes of all containers */
  bytes: number
  entries: number
  containers: number
}

/** A large Java application unpacks to 2 GB in 200,000 files; a Debian kernel has 4,000 compressed modules. */
export const NESTED_LIMITS: NestedLimits = {
  depth: 16,
  bytes: 8 * 1024 ** 3,
  entries: 2_000_000,
  containers: 100_000,
}

export interface ExpandLimits {
  /** members above this are passed on unopened: the engine does not get them either */
  maxStreamBytes: number
  /** what the engine does with archives; null while it is not known */
  engine: EngineLimits | null
  bounds?: Partial<NestedLimits>
}
