// The command behind `npm run verify-audit`: verifies the audit files of a service, or an export of the audit log.
import { stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { createSignatureCheck, readAuditKey, readPublicKeys } from './publish/signing/audit-keys.ts'
import { FORMER_KEYS_FILE, OPENPGP_FILE } from './publish/signing/key-names.ts'
import { filedHead, removedPart } from './audit/audit-query.ts'
import { verifyDirectory, verifyFile, type VerifyOptions } from './audit/verify.ts'
import { createRowComparison } from './audit/rows.ts'
import { openDatabase } from './store/db.ts'

const USAGE = `usage: npm run verify-audit -- DIRECTORY [--repos REPOS_DIR]
       npm run verify-audit -- EXPORT.jsonl [--repos REPOS_DIR]

DIRECTORY holds the files YYYY-MM-DD.jsonl and YYYY-MM-DD.checkpoints. The keys are read from REPOS_DIR, which is the
directory above unless it is given here or in the environment. With DATABASE_URL set, the files of a directory are compared
with the rows of the database as well.`

interface Output {
  print(line: string): void
  complain(line: string): void
}

/** @returns the exit code: 0 when everything is intact, 1 when something was changed or is missing, 2 when nobody can tell */
export async function verifyAudit(
  args: string[],
  env: Record<string, string | undefined>,
  { print, complain }: Output,
): Promise<0 | 1 | 2> {
  const wanted = argumentsOf(args)
  if (!wanted) {
    complain(USAGE)
    return 2
  }
  const target = resolve(wanted.target)
  const info = await stat(target).catch(() => null)
  if (!info) {
    complain(`there is no ${wanted.target}`)
    return 2
  }
  const isDirectory = info.isDirectory()
  const repos = resolve(wanted.repos ?? env['REPOS_DIR'] ?? dirname(target))
  const beside = isDirectory ? target : dirname(target)
  const publicKeys = await firstOf([
    () => readPublicKeys(join(repos, 'gnupg', OPENPGP_FILE), join(repos, 'gnupg', FORMER_KEYS_FILE)),
    () => readPublicKeys(join(repos, 'keys', 'gpg.key'), join(repos, 'keys', FORMER_KEYS_FILE)),
    () => readPublicKeys(join(beside, 'gpg.key')),
  ])
  const key = await firstOf([() => readAuditKey(join(repos, 'gnupg'))])
  if (!publicKeys && isDirectory) {
    complain(`no public key in ${repos}: give the directory of the service with --repos`)
    return 2
  }
  if (!key)
    complain(`note: there is no readable audit key in ${join(repos, 'gnupg')}; the mac of each entry is not checked`)

  const isSigned = publicKeys ? createSignatureCheck(publicKeys) : async () => false
  const known = isDirectory ? await openKnown(env['DATABASE_URL'], complain) : null
  const report = await (
    isDirectory
      ? verifyDirectory(target, { key, isSigned, ...known?.options })
      : verifyFile(target, basename(target), { key, isSigned })
  ).finally(() => known?.close())
  for (const { where, what } of report.faults) complain(`${where} ${what}`)
  if (report.faults.length > 0) return 1
  const checkpoints = isDirectory ? `, ${report.checkpoints} checkpoints` : ''
  const head = report.head ? `its head is entry ${report.head.seq} ${report.head.hash}` : 'it is empty'
  print(`${report.entries} entries in ${report.files} files${checkpoints}: the chain holds, ${head}`)
  if (report.removed) {
    const { seq, day, at } = report.removed
    print(
      `entries 1 to ${seq} (until ${day}) were removed at ${at}, as the settings say; a signed note stands for them`,
    )
  }
  if (known) print('each entry is as its row in the database says')
  if (publicKeys && isDirectory)
    print(
      `the checkpoints are signed by ${publicKeys.map((one) => one.getFingerprint().toUpperCase()).join(', before by ')}`,
    )
  return 0
}

function argumentsOf(args: string[]): { target: string; repos: string | undefined } | null {
  try {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: { repos: { type: 'string' } },
    })
    const [target, ...more] = positionals
    return target === undefined || more.length > 0 ? null : { target, repos: values.repos }
  } catch {
    return null
  }
}

/** What the database knows about the files; null if no database can be read, such as the embedded one of a running service. */
async function openKnown(
  url: string | undefined,
  complain: Output['complain'],
): Promise<{ options: Pick<VerifyOptions, 'anchors' | 'removedSeq' | 'compare'>; close(): Promise<void> } | null> {
  if (!url) return null
  try {
    const { db, close } = await openDatabase(url)
    const head = await filedHead(db)
    const { seq: removedSeq } = await removedPart(db)
    const anchors = head ? [{ ...head, source: 'the database' }] : []
    return { options: { anchors, removedSeq, compare: await createRowComparison(db) }, close }
  } catch (error) {
    complain(`note: the database was not compared: ${(error as Error).message}`)
    return null
  }
}

async function firstOf<T>(attempts: (() => Promise<T>)[]): Promise<T | null> {
  for (const attempt of attempts) {
    const value = await attempt().catch(() => null)
    if (value !== null) return value
  }
  return null
}
