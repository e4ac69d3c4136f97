// Reads the components inside a package, in a reader.
import type { ReadOptions } from '../../formats/ecosystem.ts'
import { intakeFormatOf } from '../../formats/index.ts'
import { asSpoolFile } from '../../formats/reading/spool-file.ts'
import type { JobSession } from '../../formats/readers/session.ts'
import { readComponents, type ComponentsRead } from '../../gate/engines/components/read.ts'

export interface ComponentsArgument {
  format: string
  path: string
  options: ReadOptions
  filename: string
}

/** 20,000 components with the longest names take 36 MB. */
const TOGETHER = 250

/** Sends the components in groups, and returns the last group. */
export async function components(
  { format, path, options, filename }: ComponentsArgument,
  session: JobSession,
): Promise<Omit<ComponentsRead, 'components'>> {
  const { components: found, ...rest } = await readComponents({
    members: intakeFormatOf(format).members(path, options),
    filename,
    createFile: () => asSpoolFile(session.createFile()),
  })
  for (let at = 0; at < found.length; at += TOGETHER) await session.send(found.slice(at, at + TOGETHER))
  return rest
}
