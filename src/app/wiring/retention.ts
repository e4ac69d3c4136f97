// Retention: everything that is removed by age, in the order of removal.
import { GROUP_DELETE } from '../../imports/groups.ts'
import { IMPORT_BULK } from '../../imports/bulk-import.ts'
import { MIRROR } from '../../imports/mirror/run.ts'
import { SYNC } from '../../imports/sources.ts'
import { SYNC_RUN } from '../../imports/sync-run.ts'
import type { Installability } from '../../packages/installability/installability.ts'
import { accessLogsStep } from '../../operations/retention/access-logs.ts'
import { auditStep } from '../../operations/retention/audit.ts'
import { evidenceStep } from '../../operations/retention/evidence.ts'
import { importsStep } from '../../operations/retention/imports.ts'
import { refusedPackagesStep } from '../../operations/retention/refused-packages.ts'
import { retentionKind } from '../../operations/retention/retention.ts'
import type { PublishedVersion } from '../../operations/retention/surplus-versions.ts'
import { versionsStep } from '../../operations/retention/versions.ts'
import type { Tasks } from '../../tasks/tasks.ts'
import type { Foundation } from './foundation.ts'
import type { Gate } from './gate.ts'
import type { Publishing } from './publishing.ts'

/** Kinds of tasks that `retention.import_cleanup_days` applies to. */
const OF_IMPORTS: readonly string[] = [GROUP_DELETE, IMPORT_BULK, MIRROR, SYNC, SYNC_RUN]

/** How many days ended tasks of a kind are kept; null for the default. */
export const keptDaysOf = ({ settings }: Foundation) => {
  return (kind: string) => (OF_IMPORTS.includes(kind) ? settings.current().retention.import_cleanup_days : null)
}

export function createRetention(
  foundation: Foundation,
  { active, auditRemoval }: Publishing,
  { deleteIds }: Gate,
  installability: Pick<Installability, 'plan'>,
  tasks: () => Tasks,
) {
  const { env, db, clock, paths, audit, onError } = foundation
  const settings = foundation.settings.current
  const rooms = { db, clock, settings, deleteIds }
  return retentionKind({
    ...{ audit, onError },
    steps: [
      auditStep({ ...rooms, removal: auditRemoval }),
      evidenceStep(rooms),
      importsStep({ ...rooms, tasks, directory: paths.incoming, syncKind: SYNC }),
      refusedPackagesStep(rooms),
      accessLogsStep({ ...rooms, directory: env.accessLogDir }),
      versionsStep({ ...rooms, active, brokenWithout: namesBroken(installability) }),
    ],
  })
}

/** The package names in the reasons why packages could no longer be installed. */
const namesBroken =
  ({ plan }: Pick<Installability, 'plan'>) =>
  async (codename: string, removed: readonly PublishedVersion[]): Promise<ReadonlySet<string>> => {
    const remove = removed.map(({ name, version, arch }) => ({ name, version, arch }))
    const change = { add: [], remove, promoteFrom: null, sourceId: null, withUpstream: false }
    const { would_break: broken } = await plan(codename, change)
    return new Set(
      broken.flatMap(({ name, causes }) => [
        name,
        ...causes.flatMap(({ candidates, others, excluded }) =>
          [...candidates, ...others, ...(excluded ? [excluded] : [])].map((one) => one.name),
        ),
      ]),
    )
  }
