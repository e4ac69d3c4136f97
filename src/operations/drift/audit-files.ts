// Checks the audit log: its files against their chain and signed checkpoints, and its rows against the files.
import { append } from '../../kernel/append.ts'
import type { Clock } from '../../kernel/clock.ts'
import { isMissing } from '../../kernel/files.ts'
import { namesIn } from '../../kernel/files-below.ts'
import { DAY_FILE } from '../../audit/chain.ts'
import { filedHead, removedPart } from '../../audit/audit-query.ts'
import { createRowComparison } from '../../audit/rows.ts'
import { verifyDirectory, type Fault, type VerifyOptions } from '../../audit/verify.ts'
import type { Db } from '../../store/db.ts'
import type { Paths } from '../../store/paths.ts'
import { faulty, SOUND, suspectOf, type Confirm, type Inspection, type Suspect } from './inspection.ts'

export interface AuditFilesDeps {
  db: Db
  clock: Clock
  paths: Paths
  auditLog: Pick<VerifyOptions, 'isSigned'> & {
    /** from `openAuditKey` */
    key: string
    /** Writes recorded entries to the files, with a checkpoint when one is due: a young log has none yet. */
    settle(): Promise<void>
  }
}

/** Judging one file needs the whole log, so findings that are judged within this time share one reading. */
const LOOK_KEPT_MS = 60_000

export interface AuditFiles {
  inspection: Inspection
  confirm: Confirm
}

export function createAuditFiles(deps: AuditFilesDeps): AuditFiles {
  const now = () => deps.clock.now().getTime()
  let last = { at: -Infinity, suspects: new Map<string, Suspect>() }

  async function look(signal?: AbortSignal) {
    const { suspects, checked } = await inspect(deps, signal)
    last = { at: now(), suspects }
    return { suspects: [...suspects.values()], checked }
  }

  return {
    inspection: {
      name: 'audit log',
      async *suspects(_after, signal) {
        const first = await look(signal)
        // Retention may have removed days meanwhile, or half a line was being written: a second reading shows only real faults.
        yield { ...(first.suspects.length > 0 ? await look(signal) : first), after: '' }
      },
    },
    async confirm({ subject }) {
      if (now() - last.at > LOOK_KEPT_MS) await look()
      const suspect = last.suspects.get(subject)
      return suspect ? faulty(suspect) : SOUND
    },
  }
}

async function inspect({ db, paths, auditLog }: AuditFilesDeps, signal?: AbortSignal) {
  await auditLog.settle()
  const head = await filedHead(db)
  const names = await namesIn(paths.audit)
  if (!head && !names.some((name) => DAY_FILE.test(name))) return { suspects: new Map<string, Suspect>(), checked: 0 }
  const { seq: removedSeq } = await removedPart(db)
  try {
    const { faults, files } = await verifyDirectory(paths.audit, {
      ...{ key: auditLog.key, isSigned: auditLog.isSigned, removedSeq, signal },
      anchors: head ? [{ ...head, source: 'the database' }] : [],
      compare: await createRowComparison(db),
    })
    return { suspects: suspectsOf(faults), checked: files }
  } catch (error) {
    if (!isMissing(error)) throw error
    return { suspects: suspectsOf([{ where: '', what: 'its directory, or a file of it, is gone' }]), checked: 0 }
  }
}

/** A file has one finding, which states its first fault. A fault outside the files is a finding of the directory. */
function suspectsOf(faults: readonly Fault[]): Map<string, Suspect> {
  const bySubject = new Map<string, Fault[]>()
  for (const fault of faults) {
    const [name = ''] = fault.where.split(':')
    append(bySubject, /^[\w-]+\.\w+$/.test(name) ? `audit/${name}` : 'audit', fault)
  }
  return new Map(
    [...bySubject].map(([subject, [first, ...more]]) => {
      const place = subject === 'audit' ? '' : `${first!.where} `
      const others = more.length > 0 ? `, and ${more.length} more` : ''
      const fault = subject === 'audit' ? 'missing' : 'wrong_content'
      return [subject, suspectOf('audit', subject, fault, `${place}${first!.what}${others}`)]
    }),
  )
}
