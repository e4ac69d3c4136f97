// Inside a reader: the members of a package.
import type { JobSession } from '../readers/session.ts'
import type { ReadOptions } from '../ecosystem.ts'
import { intakeFormatOf } from '../index.ts'
import { createMemberBatches } from './member-batches.ts'

export interface MembersArgument {
  format: string
  path: string
  options: ReadOptions
}

export async function members({ format, path, options }: MembersArgument, session: JobSession): Promise<void> {
  const batches = createMemberBatches(session)
  for await (const member of intakeFormatOf(format).members(path, options)) await batches.member(member)
  await batches.flush()
}
