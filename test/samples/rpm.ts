// Builds .rpm files for tests, valid or hostile, with Node alone.
import { createHash } from 'node:crypto'
import { compressSample, type SampleCompression } from './compress.ts'
import { buildCpio, cpioEntry, strippedCpioEntry } from './cpio.ts'

export interface SampleRpmFile {
  path: string
  content?: string | Uint8Array
  kind?: 'file' | 'directory' | 'ghost' | 'link'
  mode?: number
  inode?: number
}

/** `name`, `name >= 1.2-3`, or with further flags (RPMSENSE bits other than the comparison) */
export type SampleDependency = string | { text: string; flags: number }

export type SampleDependencies = Partial<
  Record<
    'provides' | 'requires' | 'conflicts' | 'obsoletes' | 'recommends' | 'suggests' | 'supplements' | 'enhances',
    SampleDependency[]
  >
>

export interface SampleRpm extends SampleDependencies {
  name?: string
  epoch?: number
  version?: string
  release?: string
  arch?: string
  files?: SampleRpmFile[]
  changelogs?: { time: number; author: string; text: string }[]
  /** additional or replaced tags of the main header; null omits a tag */
  tags?: SampleTags
  /** the same for the signature header */
  signatureTags?: SampleTags
  compression?: SampleCompression
  /** entries of the payload contain only the index of their file, as in packages above 4 GB */
  stripped?: boolean
  /** a compressed payload other than the one made of `files` */
  payload?: Uint8Array
  /** names the compression of a given `payload` */
  compressor?: string
  /** in the default form of rpm 6: wide sizes, no MD5 and SHA-1 */
  v6?: boolean
}

export type SampleTag =
  | { type: 'int8' | 'int16' | 'int32' | 'int64'; values: number[] }
  | { type: 'string' | 'i18n' | 'strings'; values: (string | Uint8Array)[] }
  | { type: 'bin'; values: Uint8Array }

/** Data by tag number; tags without data are left out. */
export type SampleTags = { [tag: number]: SampleTag | null | undefined }

export const string = (value: string | Uint8Array): SampleTag => ({ type: 'string', values: [value] })
export const strings = (...values: (string | Uint8Array)[]): SampleTag => ({ type: 'strings', values })
/** The same for lists that are too long for the arguments of a call. */
const stringList = (values: string[]): SampleTag => ({ type: 'strings', values })
const int32List = (values: number[]): SampleTag => ({ type: 'int32', values })
export const i18n = (value: string | Uint8Array): SampleTag => ({ type: 'i18n', values: [value] })
export const int32 = (...values: number[]): SampleTag => ({ type: 'int32', values })
export const bin = (values: Uint8Array): SampleTag => ({ type: 'bin', values })

const COMPRESSORS: Record<SampleCompression, string | null> = {
  gz: 'gzip',
  xz: 'xz',
  lzma: 'lzma',
  zst: 'zstd',
  none: null,
}

export async function buildRpm(sample: SampleRpm = {}): Promise<Buffer> {
  const { compression = 'gz' } = sample
  const files = sample.files ?? [{ path: `/usr/share/${sample.name ?? 'sample'}/readme`, content: 'A sample.\n' }]
  const archive = archiveOf(files, sample.stripped ?? false)
  const payload = sample.payload ?? (await compressSample(archive, compression))
  const compressor = sample.compressor ?? COMPRESSORS[compression]
  const header = renderHeader(63, {
    ...mainTags(sample, files),
    1124: string('cpio'),
    ...(compressor === null ? {} : { 1125: string(compressor), 1126: string('6') }),
    5092: strings(digest('sha256', payload)),
    5093: int32(8),
    ...(sample.payload ? {} : { 5097: strings(digest('sha256', archive)) }),
    ...(sample.v6 ? v6Tags(files, payload, archive) : {}),
    ...sample.tags,
  })
  const whole = Buffer.concat([header, payload])
  const signature = renderHeader(62, {
    269: string(digest('sha1', header)),
    273: string(digest('sha256', header)),
    1000: int32(whole.length),
    1004: bin(createHash('md5').update(whole).digest()),
    1007: int32(archive.length),
    1008: bin(Buffer.alloc(64)),
    ...(sample.v6 ? v6SignatureTags(header) : {}),
    ...sample.signatureTags,
  })
  return assembleRpm({ name: sample.name ?? 'sample', signature, header, payload })
}

const int64 = (...values: number[]): SampleTag => ({ type: 'int64', values })

/** The differences to the main header of format 4 (https://rpm.org/docs/6.0.x/manual/format_v6.html). */
function v6Tags(files: readonly SampleRpmFile[], payload: Uint8Array, archive: Uint8Array): SampleTags {
  return {
    ...{ 1009: null, 1028: null },
    5009: int64(files.reduce((sum, file) => sum + contentOf(file).length, 0)),
    ...(files.length > 0 ? { 5008: { type: 'int64', values: files.map((file) => contentOf(file).length) } } : {}),
    5093: null,
    5112: int64(payload.length),
    5113: int64(archive.length),
    5114: int32(6),
    5121: string(digest('sha512', payload)),
  }
}

function v6SignatureTags(header: Uint8Array): SampleTags {
  return {
    ...{ 269: null, 1000: null, 1004: null, 1007: null, 1008: null },
    279: string(digest('sha3-256', header)),
    999: bin(Buffer.alloc(128)),
  }
}

/** Joins the parts of an rpm; the caller provides their digests. */
export function assembleRpm(parts: {
  name?: string
  kind?: number
  major?: number
  signature: Uint8Array
  header: Uint8Array
  payload: Uint8Array
}): Buffer {
  const lead = Buffer.alloc(96)
  lead.writeUInt32BE(0xedabeedb, 0)
  lead[4] = parts.major ?? 3
  lead.writeUInt16BE(parts.kind ?? 0, 6)
  lead.writeUInt16BE(1, 8)
  lead.write((parts.name ?? 'sample').slice(0, 65), 10)
  lead.writeUInt16BE(1, 76)
  lead.writeUInt16BE(5, 78)
  const padding = Buffer.alloc(-parts.signature.length & 7)
  return Buffer.concat([lead, parts.signature, padding, parts.header, parts.payload])
}

/** A header structure with its region (62 for signatures, 63 for the main one; null for none). */
export function renderHeader(region: number | null, tags: SampleTags): Buffer {
  const entries = Object.entries(tags)
    .filter((entry): entry is [string, SampleTag] => entry[1] !== null && entry[1] !== undefined)
    .map(([tag, value]) => ({ tag: Number(tag), ...encode(value) }))
    .sort((a, b) => a.tag - b.tag)
  const data: Buffer[] = []
  let size = 0
  const index = entries.map(({ tag, type, count, align, bytes }) => {
    const padding = -size & (align - 1)
    data.push(Buffer.alloc(padding), bytes)
    const offset = size + padding
    size = offset + bytes.length
    return numbers(tag, type, offset, count)
  })
  if (region !== null) {
    index.unshift(numbers(region, 7, size, 16))
    data.push(numbers(region, 7, -16 * index.length, 16))
    size += 16
  }
  return Buffer.concat([Buffer.from('8eade80100000000', 'hex'), numbers(index.length, size), ...index, ...data])
}

/** Four bytes each. */
export function numbers(...values: number[]): Buffer {
  return words(values)
}

function words(values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length)
  values.forEach((value, at) => bytes.writeInt32BE(value | 0, 4 * at))
  return bytes
}

export function digest(algorithm: string, bytes: Uint8Array): string {
  return createHash(algorithm).update(bytes).digest('hex')
}

/** Two bytes each. */
function halves(values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(2 * values.length)
  values.forEach((value, at) => bytes.writeUInt16BE(value & 0xffff, 2 * at))
  return bytes
}

function encode(tag: SampleTag): { type: number; count: number; align: number; bytes: Buffer } {
  const count = tag.values.length
  switch (tag.type) {
    case 'int8':
      return { type: 2, count, align: 1, bytes: Buffer.from(tag.values) }
    case 'int16':
      return { type: 3, count, align: 2, bytes: halves(tag.values) }
    case 'int32':
      return { type: 4, count, align: 4, bytes: words(tag.values) }
    case 'int64':
      return {
        type: 5,
        count,
        align: 8,
        bytes: Buffer.concat(tag.values.map((value) => numbers(Math.floor(value / 2 ** 32), value % 2 ** 32))),
      }
    case 'bin':
      return { type: 7, count, align: 1, bytes: Buffer.from(tag.values) }
    default: {
      const type = { string: 6, strings: 8, i18n: 9 }[tag.type]
      const texts = tag.values.map((value) => Buffer.concat([Buffer.from(value as string), Buffer.alloc(1)]))
      return { type, count, align: 1, bytes: Buffer.concat(texts) }
    }
  }
}

function mainTags(sample: SampleRpm, files: readonly SampleRpmFile[]): SampleTags {
  const { name = 'sample', version = '1.0', release = '1', arch = 'x86_64', epoch, changelogs = [] } = sample
  const evr = `${epoch === undefined ? '' : `${epoch}:`}${version}-${release}`
  const own = [`${name} = ${evr}`, ...(arch === 'x86_64' ? [`${name}(x86-64) = ${evr}`] : [])]
  return {
    100: strings('C'),
    1000: string(name),
    1001: string(version),
    1002: string(release),
    ...(epoch === undefined ? {} : { 1003: int32(epoch) }),
    1004: i18n('A sample package'),
    1005: i18n('It exists for tests.\n\nNothing else.'),
    1006: int32(1_700_000_000),
    1007: string('builder.example.org'),
    1009: int32(files.reduce((sum, file) => sum + contentOf(file).length, 0)),
    1014: string('Apache-2.0'),
    1015: string('Sample Packager <sample@example.org>'),
    1016: i18n('Unspecified'),
    1020: string('https://example.org/sample'),
    1021: string('linux'),
    1022: string(arch),
    1044: string(`${name}-${version}-${release}.src.rpm`),
    1064: string('4.18.0'),
    ...(files.length > 0 ? fileTags(files) : {}),
    ...(changelogs.length > 0
      ? {
          1080: int32(...changelogs.map(({ time }) => time)),
          1081: strings(...changelogs.map(({ author }) => author)),
          1082: strings(...changelogs.map(({ text }) => text)),
        }
      : {}),
    ...dependencyTags(1047, 1112, 1113, [...own, ...(sample.provides ?? [])]),
    ...dependencyTags(1049, 1048, 1050, [
      { text: 'rpmlib(CompressedFileNames) <= 3.0.4-1', flags: 1 << 24 },
      ...(sample.requires ?? []),
    ]),
    ...dependencyTags(1054, 1053, 1055, sample.conflicts),
    ...dependencyTags(1090, 1114, 1115, sample.obsoletes),
    ...dependencyTags(5046, 5048, 5047, sample.recommends),
    ...dependencyTags(5049, 5051, 5050, sample.suggests),
    ...dependencyTags(5052, 5054, 5053, sample.supplements),
    ...dependencyTags(5055, 5057, 5056, sample.enhances),
  }
}

const SENSES: Record<string, number> = { '<': 2, '>': 4, '=': 8, '<=': 10, '>=': 12 }

function dependencyTags(
  nameTag: number,
  flagsTag: number,
  versionTag: number,
  list: readonly SampleDependency[] = [],
): SampleTags {
  if (list.length === 0) return {}
  const parsed = list.map((dependency) => {
    const { text, flags } = typeof dependency === 'string' ? { text: dependency, flags: 0 } : dependency
    const parts = text.startsWith('(') ? null : /^(\S+) (<|>|=|<=|>=) (\S+)$/.exec(text)
    return { name: parts?.[1] ?? text, flags: flags | (parts ? SENSES[parts[2]!]! : 0), version: parts?.[3] ?? '' }
  })
  return {
    [nameTag]: stringList(parsed.map(({ name }) => name)),
    [flagsTag]: int32List(parsed.map(({ flags }) => flags)),
    [versionTag]: stringList(parsed.map(({ version }) => version)),
  }
}

const contentOf = ({ content = '', kind }: SampleRpmFile): Buffer =>
  kind === 'directory' ? Buffer.alloc(0) : Buffer.from(content)

function modeOf({ kind = 'file', mode }: SampleRpmFile): number {
  return mode ?? { file: 0o100644, ghost: 0o100644, directory: 0o040755, link: 0o120777 }[kind]
}

function fileTags(files: readonly SampleRpmFile[]): SampleTags {
  const directories = [...new Set(files.map(({ path }) => path.slice(0, path.lastIndexOf('/') + 1)))]
  const each = (value: (file: SampleRpmFile, index: number) => number) => int32List(files.map(value))
  return {
    1028: each((file) => (file.kind === 'directory' ? 4096 : contentOf(file).length)),
    1030: { type: 'int16', values: files.map(modeOf) },
    1033: { type: 'int16', values: files.map(() => 0) },
    1034: each(() => 1_700_000_000),
    1035: stringList(
      files.map((file) =>
        (modeOf(file) & 0o170000) === 0o100000 && file.kind !== 'ghost' ? digest('sha256', contentOf(file)) : '',
      ),
    ),
    1036: stringList(files.map((file) => (file.kind === 'link' ? contentOf(file).toString() : ''))),
    1037: each(({ kind }) => (kind === 'ghost' ? 64 : 0)),
    1039: stringList(files.map(() => 'root')),
    1040: stringList(files.map(() => 'root')),
    1045: each(() => -1),
    1095: each(() => 1),
    1096: each(({ inode }, index) => inode ?? index + 1),
    1097: stringList(files.map(() => '')),
    1116: each(({ path }) => directories.indexOf(path.slice(0, path.lastIndexOf('/') + 1))),
    1117: stringList(files.map(({ path }) => path.slice(path.lastIndexOf('/') + 1))),
    1118: stringList(directories),
    5011: int32(8),
  }
}

function archiveOf(files: readonly SampleRpmFile[], stripped: boolean): Buffer {
  const packed = files.flatMap((file, index) => (file.kind === 'ghost' ? [] : [{ file, index }]))
  if (stripped) {
    const trailer = cpioEntry({ name: 'TRAILER!!!', mode: 0, links: 1 })
    return Buffer.concat([...packed.map(({ file, index }) => strippedCpioEntry(index, contentOf(file))), trailer])
  }
  return buildCpio(
    packed.map(({ file, index }) => ({
      name: `.${file.path}`,
      content: contentOf(file),
      mode: modeOf(file),
      inode: file.inode ?? index + 1,
    })),
  )
}
