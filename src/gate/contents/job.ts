// Unpacks a package, and the archives inside its members, in a reader.
import type { ReadOptions } from '../../formats/ecosystem.ts'
import { intakeFormatOf } from '../../formats/index.ts'
import { createMemberBatches } from '../../formats/reading/member-batches.ts'
import { asSpoolFile } from '../../formats/reading/spool-file.ts'
import type { JobSession } from '../../formats/readers/session.ts'
import { expandMembers } from '../engines/nested/expand.ts'
import type { ExpandLimits } from '../engines/nested/limits.ts'

export interface ContentsArgument {
  format: string
  path: string
  options: ReadOptions
  limits: ExpandLimits
}

export async function contents(
  { format, path, options, limits }: ContentsArgument,
  session: JobSession,
): Promise<void> {
  const batches = createMemberBatches(session)
  const expanded = expandMembers(() => intakeFormatOf(format).members(path, options), {
    ...limits,
    // The service reads a member's file after it received the member, so members are sent before the file is removed.
    createFile: () => asSpoolFile(session.createFile(), batches.flush),
    skip: batches.skip,
  })
  for await (const member of expanded) {
    // The engine does not get it: its name and size are enough.
    const isTooLarge = member.sizeBytes > limits.maxStreamBytes
    await batches.member(isTooLarge ? { ...member, content: nothing() } : member)
  }
  await batches.flush()
}

async function* nothing(): AsyncGenerator<Uint8Array> {
  return
}
