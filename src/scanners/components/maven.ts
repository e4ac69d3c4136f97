// Java archives: the coordinates Maven leaves in them, and those of archives inside them, one level deep.
import { bufferSource, zipEntriesOf, type ZipEntry, type ZipSource } from '../../archive/zip.ts'
import { componentOf, shown, Unreadable, type FoundComponent } from './component.ts'

export const JAVA_ARCHIVE = /\.(?:jar|war|ear|hpi|jpi)$/i

export interface JavaLimits {
  /** files in one archive */
  mostEntries: number
  mostDirectoryBytes: number
  /** of an archive inside another that has to be unpacked to be looked into */
  largestPackedJarBytes: number
  /** archives in one archive */
  mostJars: number
  /** what one archive may unpack to, with all that lies in it */
  mostUnpackedBytes: number
}

export const JAVA_LIMITS: JavaLimits = {
  mostEntries: 65_535,
  mostDirectoryBytes: 16 * 1024 ** 2,
  largestPackedJarBytes: 32 * 1024 ** 2,
  mostJars: 2_000,
  mostUnpackedBytes: 512 * 1024 ** 2,
}

const COORDINATES = /^META-INF\/maven\/([^/]+)\/([^/]+)\/pom\.properties$/
const COORDINATES_BYTES = 64 * 1024
const NAME = /^[A-Za-z0-9_][A-Za-z0-9_.-]*:[A-Za-z0-9_][A-Za-z0-9_.-]*$/

export interface JavaTold {
  found(component: FoundComponent): void
  skipped(name: string, reason: string): void
}

/** Tells what is in an archive, or why it could not be looked into. @param path of the archive inside the package */
export async function readJavaArchive(
  source: ZipSource,
  path: string,
  limits: JavaLimits,
  told: JavaTold,
): Promise<void> {
  let unpacked = 0
  let jars = 0

  const take = (entry: ZipEntry) => {
    unpacked += entry.sizeBytes
    if (unpacked > limits.mostUnpackedBytes)
      throw new Unreadable(`unpacks to more than ${limits.mostUnpackedBytes} bytes`)
    return entry.read()
  }

  async function look(archive: ZipSource, at: string, outermost: boolean): Promise<void> {
    for await (const entry of zipEntriesOf(archive, limits)) {
      if (COORDINATES.test(entry.name)) await coordinates(entry, at)
      else if (JAVA_ARCHIVE.test(entry.name))
        await (outermost
          ? inner(entry, `${at}!/${entry.name}`)
          : told.skipped(`${at}!/${entry.name}`, 'lies in an archive inside another'))
    }
  }

  async function coordinates(entry: ZipEntry, at: string): Promise<void> {
    const where = `${at}!/${entry.name}`
    if (entry.sizeBytes > COORDINATES_BYTES) {
      told.skipped(where, `is larger than ${COORDINATES_BYTES} bytes`)
      return
    }
    const content = await take(entry)
    try {
      told.found(mavenComponent(content, entry.name, at))
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error
      told.skipped(where, error.message)
    }
  }

  async function inner(entry: ZipEntry, at: string): Promise<void> {
    if (++jars > limits.mostJars) throw new Unreadable(`holds more than ${limits.mostJars} archives`)
    try {
      const stored = await entry.inside()
      if (!stored && entry.sizeBytes > limits.largestPackedJarBytes) {
        told.skipped(at, `is packed and larger than ${limits.largestPackedJarBytes} bytes`)
        return
      }
      await look(stored ?? bufferSource(await take(entry)), at, false)
    } catch (error) {
      if (unpacked > limits.mostUnpackedBytes) throw error
      told.skipped(at, (error as Error).message)
    }
  }

  try {
    await look(source, path, true)
  } catch (error) {
    told.skipped(path, (error as Error).message)
  }
}

/** @param name of the entry: its directories say what a file without them leaves out */
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
