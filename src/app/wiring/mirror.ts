// Mirrors of upstream repositories: what they select, their plans and their runs.
import type { SyncTasks } from '../../imports/follow-sync.ts'
import { createMirrors, type Mirror } from '../../imports/mirror/mirrors.ts'
import { planMirror } from '../../imports/mirror/plan.ts'
import { mirrorKind } from '../../imports/mirror/run.ts'
import type { Foundation } from './foundation.ts'
import type { Gate } from './gate.ts'
import type { Imports } from './imports.ts'
import type { Publishing } from './publishing.ts'

export type Mirroring = ReturnType<typeof createMirroring>

export function createMirroring(
  foundation: Foundation,
  { registry }: Publishing,
  { engines, deleteIds, canScanMalware }: Gate,
  { sources, importMany, room }: Imports,
  tasks: () => SyncTasks,
) {
  const { db, clock, audit } = foundation
  const settings = foundation.settings.current
  const mirrors = createMirrors({ db, clock, audit, sources, registry, settings })
  return {
    mirrors,
    plan: (mirror: Mirror, signal?: AbortSignal) =>
      planMirror(
        { db, clock, settings, freeBytes: room.freeBytes, matcher: engines.advisoryMatcher, canScanMalware },
        mirror,
        signal,
      ),
    kind: mirrorKind({ db, tasks, clock, audit, mirrors, importMany, settings, freeBytes: room.freeBytes, deleteIds }),
  }
}
