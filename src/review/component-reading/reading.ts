// The components inside a stored package, as a reader finds them.
import { isProblem } from '../../domain/problem.ts'
import type { ReadOptions } from '../../formats/ecosystem.ts'
import type { Bring } from '../../formats/reading/bring.ts'
import { ReaderEnded, runJob } from '../../formats/readers/job.ts'
import type { ReaderPool } from '../../formats/readers/pool.ts'
import { createSpoolFiles } from '../../formats/readers/spool-files.ts'
import type { FoundComponent } from '../../gate/engines/components/component.ts'
import { COMPONENT_LIMITS, type ComponentsRead } from '../../gate/engines/components/read.ts'
import type { ComponentsArgument } from './job.ts'

/** Never throws because of the package's content. */
export type ComponentReading = (format: string, path: string, filename: string) => Promise<ComponentsRead>

export interface ComponentReadingDeps {
  pool: ReaderPool
  bring: Bring
  /** names a file below the staging directory */
  newPath(): string
  options(): ReadOptions
}

export function createComponentReading({ pool, bring, newPath, options }: ComponentReadingDeps): ComponentReading {
  async function read(argument: ComponentsArgument): Promise<ComponentsRead> {
    const files = createSpoolFiles(newPath, COMPONENT_LIMITS.mostArchiveBytes)
    const job = runJob(pool, 'review-components', argument, { files, isSent: isComponents, isDone: isRest })
    const components: FoundComponent[] = []
    for (let next = await job.next(); ; next = await job.next()) {
      if (next.done) return { ...next.value, components }
      components.push(...next.value)
    }
  }

  return async (format, path, filename) => {
    const file = await bring(path)
    try {
      return await read({ format, path: file.path, filename, options: options() })
    } catch (error) {
      // Otherwise it would be read again and again, always in vain.
      const reason = isProblem(error, 'invalid_package') ? error.detail : error instanceof ReaderEnded && error.message
      if (reason === false) throw error
      const skipped = [{ name: filename, reason: `could not be read to its end: ${reason}` }]
      return { components: [], filesSeen: 0, bytes: 0, skipped }
    } finally {
      await file.done()
    }
  }
}

const isText = (value: unknown): value is string => typeof value === 'string'
const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0

function isComponents(value: unknown): value is FoundComponent[] {
  return Array.isArray(value) && value.every(isComponent)
}

function isComponent(value: unknown): boolean {
  const { ecosystem, name, version, path, license } = (value ?? {}) as Partial<Record<keyof FoundComponent, unknown>>
  return [ecosystem, name, version, path].every(isText) && (license === null || isText(license))
}

function isRest(value: unknown): value is Omit<ComponentsRead, 'components'> {
  const { filesSeen, bytes, skipped } = (value ?? {}) as Partial<Record<keyof ComponentsRead, unknown>>
  return isCount(filesSeen) && isCount(bytes) && Array.isArray(skipped) && skipped.every(isSkip)
}

function isSkip(value: unknown): boolean {
  const { name, reason } = (value ?? {}) as { name?: unknown; reason?: unknown }
  return isText(name) && isText(reason)
}
