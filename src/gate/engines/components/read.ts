// Finds the components inside a package: npm modules, PyPI projects and Maven artifacts. Bounded in memory and time.
import { spool, type SpoolFile } from '../../../formats/archive/spool.ts'
import { isProblem } from '../../../domain/problem.ts'
import type { ScanMember } from '../scanner.ts'
import { shown, Unreadable, type FoundComponent } from './component.ts'
import { Exhausted, JAVA_ARCHIVE, JAVA_LIMITS, readJavaArchive, type JavaBudget, type JavaLimits } from './maven.ts'
import { NPM_MANIFEST, NPM_MANIFEST_BYTES, npmComponent } from './npm.ts'
import { PYTHON_METADATA, PYTHON_METADATA_BYTES, pythonComponent } from './python.ts'

export interface ComponentLimits extends JavaLimits {
  /** different ones in a package */
  mostComponents: number
  largestArchiveBytes: number
  /** archives up to this size are read in memory, larger ones from a file */
  mostInMemoryBytes: number
  /** total of all archives of a package */
  mostArchiveBytes: number
  /**
   * How much the archives of a package may unpack to, as a multiple of their own size, plus a free amount. An archive
   * inside an archive is compressed already, so honest ones hardly grow.
   */
  mostRatio: number
  freeUnpackedBytes: number
  /** total milliseconds for all archives of a package */
  mostMilliseconds: number
}

export const COMPONENT_LIMITS: ComponentLimits = {
  ...JAVA_LIMITS,
  mostComponents: 20_000,
  largestArchiveBytes: 1024 ** 3,
  mostInMemoryBytes: 16 * 1024 ** 2,
  mostArchiveBytes: 4 * 1024 ** 3,
  mostRatio: 4,
  freeUnpackedBytes: 64 * 1024 ** 2,
  mostMilliseconds: 120_000,
}

/** The components of a package, and the files that look like one and could not be read. */
export interface ComponentsRead {
  /** each once, at the first place it was found */
  components: FoundComponent[]
  filesSeen: number
  bytes: number
  skipped: { name: string; reason: string }[]
}

/** Beyond this many, files that were not read are counted and no longer named. */
const NAMED_AT_MOST = 100

/** Whether a file of that name can identify a component: a package without any such file need not be opened. */
export function mayHoldComponent(path: string): boolean {
  return kindOf(path) !== null
}

type Kind = 'npm' | 'python' | 'java'

function kindOf(path: string): Kind | null {
  // Most files of most packages end here.
  if (path.endsWith('/package.json')) return NPM_MANIFEST.test(path) ? 'npm' : null
  if (/(?:METADATA|PKG-INFO|\.egg-info)$/.test(path)) return PYTHON_METADATA.test(path) ? 'python' : null
  return JAVA_ARCHIVE.test(path) ? 'java' : null
}

/**
 * Goes once over the members of a package. A file that is damaged, hostile or beyond a limit is reported and costs no more
 * than the limit. When the package's own archive ends early, its unread rest is reported too.
 * @param createFile makes a file that is removed before this returns
 */
export async function readComponents(deps: {
  members: AsyncIterable<ScanMember>
  filename: string
  createFile(): SpoolFile
  limits?: Partial<ComponentLimits>
}): Promise<ComponentsRead> {
  const limits = { ...COMPONENT_LIMITS, ...deps.limits }
  const components = new Map<string, FoundComponent>()
  const skipped: ComponentsRead['skipped'] = []
  let [unnamed, tooMany, filesSeen, bytes, archiveBytes, unpackedBytes] = [0, 0, 0, 0, 0, 0]
  let milliseconds = 0

  const skip = (name: string, reason: string) => {
    if (skipped.length < NAMED_AT_MOST) skipped.push({ name: shown(name), reason: shown(reason) })
    else unnamed++
  }
  const found = (component: FoundComponent) => {
    const key = `${component.ecosystem}\0${component.name}\0${component.version}`
    if (components.has(key)) return
    if (components.size < limits.mostComponents) components.set(key, component)
    else tooMany++
  }

  async function manifest(
    member: ScanMember,
    path: string,
    most: number,
    whole: boolean,
    read: (content: Buffer, path: string) => FoundComponent,
  ): Promise<void> {
    if (whole && member.sizeBytes > most) {
      skip(path, `is larger than ${most} bytes`)
      return
    }
    const content = await head(member, most)
    filesSeen++
    bytes += content.length
    try {
      found(read(content, path))
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error
      skip(path, error.message)
    }
  }

  /** The budget of the package while one archive is read; the time of its other members is not counted. */
  function budget(): JavaBudget {
    const started = performance.now()
    const most = Math.round(limits.freeUnpackedBytes + limits.mostRatio * archiveBytes)
    const checkTime = () => {
      if (milliseconds + performance.now() - started > limits.mostMilliseconds)
        throw new Exhausted(`the archives of the package take more than ${limits.mostMilliseconds / 1000} s`)
    }
    return {
      checkTime,
      unpack(size) {
        checkTime()
        if (unpackedBytes + size > most)
          throw new Exhausted(`the archives of the package unpack to more than ${most} bytes`)
        unpackedBytes += size
      },
    }
  }

  async function archive(member: ScanMember, path: string): Promise<void> {
    const started = performance.now()
    try {
      await readArchive(member, path)
    } finally {
      milliseconds += performance.now() - started
    }
  }

  async function readArchive(member: ScanMember, path: string): Promise<void> {
    if (member.sizeBytes > limits.largestArchiveBytes) {
      skip(path, `is larger than ${limits.largestArchiveBytes} bytes`)
      return
    }
    archiveBytes += member.sizeBytes
    if (archiveBytes > limits.mostArchiveBytes) {
      skip(path, `the archives of the package have more than ${limits.mostArchiveBytes} bytes`)
      return
    }
    if (milliseconds > limits.mostMilliseconds) {
      skip(path, `the archives of the package take more than ${limits.mostMilliseconds / 1000} s`)
      return
    }
    filesSeen++
    bytes += member.sizeBytes
    const report = { found, skipped: skip }
    const whole = await spool(member.content, deps.createFile, limits.mostInMemoryBytes)
    try {
      await readJavaArchive(whole, path, limits, budget(), report)
    } finally {
      await whole.remove()
    }
  }

  try {
    for await (const member of deps.members) {
      const path = member.name.replace(/^(?:\.?\/)+/, '')
      const kind = kindOf(path)
      if (kind === 'npm') await manifest(member, path, NPM_MANIFEST_BYTES, true, npmComponent)
      else if (kind === 'python') await manifest(member, path, PYTHON_METADATA_BYTES, false, pythonComponent)
      else if (kind === 'java') await archive(member, path)
    }
  } catch (error) {
    if (!isProblem(error, 'invalid_package')) throw error
    skip(deps.filename, `could not be read to its end: ${error.detail}`)
  }
  if (unnamed > 0) skipped.push({ name: `${unnamed} more`, reason: 'not listed one by one' })
  if (tooMany > 0)
    skipped.push({ name: `${tooMany} more components`, reason: `a package's first ${limits.mostComponents} are kept` })
  return { components: [...components.values()], filesSeen, bytes, skipped }
}

/** The first `most` bytes of a file, or all of it. */
async function head(member: ScanMember, most: number): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  let size = 0
  for await (const piece of member.content) {
    pieces.push(piece)
    size += piece.length
    if (size >= most) break
  }
  return Buffer.concat(pieces).subarray(0, most)
}
