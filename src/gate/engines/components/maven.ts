// Java archives: their Maven coordinates, and those of the archives inside them, one level deep.
import { setImmediate } from 'node:timers/promises'
import { bufferSource, zipEntriesOf, type ZipEntry, type ZipSource } from '../../../formats/archive/zip.ts'
import { componentOf, shown, Unreadable, type FoundComponent } from './component.ts'

export const JAVA_ARCHIVE = /\.(?:jar|war|ear|hpi|jpi)$/i

export interface JavaLimits {
  /** files in one archive */
  mostEntries: number
  mostDirectoryBytes: number
  /** size up to which an archive inside another is unpacked; a stored one is read in place */
  largestPackedJarBytes: number
  /** archives in one archive */
  mostJars: number
}

export const JAVA_LIMITS: JavaLimits = {
  mostEntries: 65_535,
  mostDirectoryBytes: 16 * 1024 ** 2,
  largestPackedJarBytes: 32 * 1024 ** 2,
  mostJars: 2_000,
}

/** What is left of a package's budget; both throw `Exhausted`. */
export interface JavaBudget {
  /** before so many bytes are unpacked */
  unpack(bytes: number): void
  /** to be called now and then */
  checkTime(): void
}

/** The budget of the whole package is spent. */
export class Exhausted extends Unreadable {}

const COORDINATES = /^META-INF\/maven\/([^/]+)\/([^/]+)\/pom\.properties$/
const COORDINATES_BYTES = 64 * 1024
const NAME = /^[A-Za-z0-9_][A-Za-z0-9_.-]*:[A-Za-z0-9_][A-Za-z0-9_.-]*$/

export interface JavaReport {
  found(component: FoundComponent): void
  skipped(name: string, reason: string): void
}

/** Entries of a zip directory between two turns of the event loop: 1,000 cost some milliseconds. */
const TURN_ENTRIES = 1_000

/**
 * Reports the components in an archive, or why it cannot be read.
 * @param path of the archive inside the package
 */
export async function readJavaArchive(
  source: ZipSource,
  path: string,
  limits: JavaLimits,
  budget: JavaBudget,
  report: JavaReport,
): Promise<void> {
  let jars = 0
  let entries = 0

  const unpack = (entry: ZipEntry) => {
    budget.unpack(entry.sizeBytes)
    return entry.read()
  }

  async function readEntries(archive: ZipSource, at: string, outermost: boolean): Promise<void> {
    for await (const entry of zipEntriesOf(archive, limits)) {
      if (++entries % TURN_ENTRIES === 0) {
        await setImmediate()
        budget.checkTime()
      }
      if (COORDINATES.test(entry.name)) await coordinates(entry, at)
      else if (JAVA_ARCHIVE.test(entry.name)) {
        const path = `${at}!/${entry.name}`
        if (outermost) await inner(entry, path)
        else report.skipped(path, 'is an archive in an archive in an archive')
      }
    }
  }

  async function coordinates(entry: ZipEntry, at: string): Promise<void> {
    const where = `${at}!/${entry.name}`
    if (entry.sizeBytes > COORDINATES_BYTES) {
      report.skipped(where, `is larger than ${COORDINATES_BYTES} bytes`)
      return
    }
    const content = await unpack(entry)
    try {
      report.found(mavenComponent(content, entry.name, at))
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error
      report.skipped(where, error.message)
    }
  }

  async function inner(entry: ZipEntry, at: string): Promise<void> {
    if (++jars > limits.mostJars) throw new Unreadable(`holds more than ${limits.mostJars} archives`)
    try {
      const stored = await entry.inside()
      if (!stored && entry.sizeBytes > limits.largestPackedJarBytes) {
        report.skipped(at, `is packed and larger than ${limits.largestPackedJarBytes} bytes`)
        return
      }
      await readEntries(stored ?? bufferSource(await unpack(entry)), at, false)
    } catch (error) {
      if (error instanceof Exhausted) throw error
      report.skipped(at, (error as Error).message)
    }
  }

  try {
    await readEntries(source, path, true)
  } catch (error) {
    report.skipped(path, (error as Error).message)
  }
}

/** @param name of the entry: its directories give the group and artifact that the file may omit */
function mavenComponent(content: Buffer, name: string, path: string): FoundComponent {
  const [, groupId, artifactId] = COORDINATES.exec(name) ?? []
  const said = new Map(
    content
      .toString('latin1')
      .split(/\r\n|\r|\n/)
      .flatMap((line) => {
        const [, key, value] = /^[ \t]*(groupId|artifactId|version)[ \t]*[=:](.*)$/.exec(line) ?? []
        return key === undefined || value === undefined ? [] : [[key, value.trim()] as const]
      }),
  )
  const full = `${said.get('groupId') ?? groupId}:${said.get('artifactId') ?? artifactId}`
  return componentOf('Maven', { name: full, version: said.get('version') }, shown(path), NAME)
}
