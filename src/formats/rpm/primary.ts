// The packages of primary.xml, with the facts that a package's own header would state.
import { isProblem } from '../../domain/problem.ts'
import { invalid } from '../archive/limits.ts'
import { BOUNDS, checkCount, checkLine, quote } from '../bounds.ts'
import { refused, type CatalogItem } from '../catalog.ts'
import { parseSource, rpmFilename } from './read.ts'
import {
  DEPENDENCY_KINDS,
  isPrimaryFile,
  isRich,
  MOST_RICH,
  MOST_RICH_CHARACTERS,
  providesOf,
  requirementsOf,
  SENSE,
  type Dependencies,
  type DependencyKind,
} from './relations.ts'
import { digestOf } from './repomd.ts'
import { isPart } from './versions.ts'
import type { XmlHandler } from './xml-reader.ts'

/** Texts that are kept, by the path of their element inside a package. */
const TEXTS = new Set([
  'name',
  'arch',
  'checksum',
  'summary',
  'packager',
  'url',
  'format/rpm:license',
  'format/rpm:vendor',
  'format/rpm:group',
  'format/rpm:sourcerpm',
])
const LONGEST_TEXT = 20_000
/** Files in `bin` and `/etc` of one package. */
const MOST_PRIMARY_FILES = 16_384
/** Of one package: kernels have about a million. */
const MOST_CHARACTERS = 4 * 1024 * 1024
const KINDS: ReadonlyMap<string, DependencyKind> = new Map(DEPENDENCY_KINDS.map((kind) => [`rpm:${kind}`, kind]))
const FLAGS: ReadonlyMap<string, number> = new Map([
  ['LT', SENSE.LESS],
  ['LE', SENSE.LESS | SENSE.EQUAL],
  ['EQ', SENSE.EQUAL],
  ['GE', SENSE.GREATER | SENSE.EQUAL],
  ['GT', SENSE.GREATER],
])

interface Package {
  texts: Map<string, string>
  version: ReadonlyMap<string, string>
  size: ReadonlyMap<string, string>
  checksum: string | undefined
  path: string
  dependencies: Dependencies
  relations: number
  /** of names and versions of all dependencies, and of file names */
  characters: number
  richCount: number
  richCharacters: number
  files: { path: string; isDirectory: boolean }[]
  /** why the package is left out */
  unreadable: string | null
}

/** @param found receives each package when its element ends */
export function createPrimaryHandler(document: string, found: (item: CatalogItem) => void): XmlHandler {
  const path: string[] = []
  let pkg: Package | null = null
  let collected: string | null = null
  let fileType: string | undefined
  let kind: DependencyKind | null = null

  function openInPackage(one: Package, name: string, attributes: ReadonlyMap<string, string>): void {
    // By far the most elements are these.
    if (name === 'rpm:entry') {
      if (kind) addDependency(one, kind, attributes)
      return
    }
    kind = KINDS.get(name) ?? null
    const place = placeOf(path)
    if (TEXTS.has(place) || place === 'format/file') collected = ''
    if (place === 'version') one.version = attributes
    if (place === 'size') one.size = attributes
    if (place === 'checksum') one.checksum = attributes.get('type')
    if (place === 'format/file') fileType = attributes.get('type')
    if (place !== 'location') return
    one.path = (attributes.get('href') ?? '').replace(/^(?:\.\/)+/, '')
    const base = attributes.get('xml:base')
    if (base === undefined) return
    if (!/^https?:\/\//i.test(base) || !URL.canParse(base))
      one.unreadable ??= `its file is at ${quote(base)}, which is no http or https address`
    else one.path = `${base.replace(/\/+$/, '')}/${one.path}`
  }

  return {
    open(name, attributes) {
      path.push(name)
      if (path.length === 1 && name !== 'metadata') throw refused('malformed', `${document} is no primary.xml`)
      if (path.length === 2 && name === 'package') pkg = emptyPackage()
      else if (pkg) openInPackage(pkg, name, attributes)
    },
    text(piece) {
      if (collected !== null && collected.length < LONGEST_TEXT) collected += piece
    },
    close() {
      const place = collected === null ? '' : placeOf(path)
      path.pop()
      if (!pkg) return
      if (collected !== null) {
        if (place === 'format/file') addFile(pkg, collected, fileType)
        else pkg.texts.set(place, collected)
        collected = null
      }
      if (path.length > 1) return
      found(itemOf(pkg, document))
      pkg = null
    },
  }
}

/** The path below the element of the package. */
const placeOf = (path: readonly string[]): string => path.slice(2).join('/')

function emptyPackage(): Package {
  return {
    texts: new Map(),
    version: new Map(),
    size: new Map(),
    checksum: undefined,
    path: '',
    dependencies: {},
    relations: 0,
    characters: 0,
    richCount: 0,
    richCharacters: 0,
    files: [],
    unreadable: null,
  }
}

function addDependency(pkg: Package, kind: DependencyKind, attributes: ReadonlyMap<string, string>): void {
  const name = attributes.get('name')
  if (!name || pkg.unreadable !== null) return
  const ver = attributes.get('ver') ?? ''
  const rel = attributes.get('rel') ?? ''
  const epoch = attributes.get('epoch') ?? '0'
  const version = ver === '' ? '' : `${epoch === '0' ? '' : `${epoch}:`}${ver}${rel === '' ? '' : `-${rel}`}`
  const list = (pkg.dependencies[kind] ??= [])
  list.push([name, FLAGS.get(attributes.get('flags') ?? '') ?? 0, version])
  if (kind !== 'provides') pkg.relations++
  pkg.characters += name.length + version.length
  if (isRich(name)) {
    pkg.richCount++
    pkg.richCharacters += name.length
  }
  if (
    list.length > BOUNDS.rpm[kind === 'provides' ? 'provides' : 'relations'] ||
    pkg.relations > BOUNDS.rpm.allRelations ||
    pkg.characters > MOST_CHARACTERS
  )
    pkg.unreadable = `the package declares more ${kind} than are accepted`
  if (pkg.richCount > MOST_RICH || pkg.richCharacters > MOST_RICH_CHARACTERS)
    pkg.unreadable = 'the package has too many boolean dependencies'
  if (/[\r\n]/.test(name) || /[\r\n]/.test(version))
    pkg.unreadable = 'the package has a dependency of more than one line'
}

function addFile(pkg: Package, path: string, type: string | undefined): void {
  if (!isPrimaryFile(path) || path.length > 4095) return
  pkg.characters += path.length
  if (pkg.files.length === MOST_PRIMARY_FILES || pkg.characters > MOST_CHARACTERS)
    pkg.unreadable ??= 'the package has too many files'
  else pkg.files.push({ path, isDirectory: type === 'dir' })
}

function itemOf(pkg: Package, document: string): CatalogItem {
  const name = pkg.texts.get('name') ?? ''
  const what = `${document}: the entry of ${quote(name)}`
  const digest = digestOf(pkg.checksum, pkg.texts.get('checksum') ?? '')
  if (!digest) throw refused('malformed', `${what} has no SHA-256 checksum; MD5 and SHA-1 are not accepted`)
  const size = pkg.size.get('package') ?? ''
  if (!/^[0-9]{1,15}$/.test(size)) throw refused('malformed', `${what} has no size`)
  if (pkg.path === '') throw refused('malformed', `${what} has no location`)
  try {
    return { ...factsOf(pkg, name), path: pkg.path, sizeBytes: Number(size), digest }
  } catch (error) {
    if (isProblem(error, 'invalid_package')) return { name: name || null, unreadable: error.detail }
    throw error
  }
}

/** As `describe` in read.ts. */
function factsOf(pkg: Package, name: string) {
  const { texts, version: parts, files, dependencies, unreadable } = pkg
  if (unreadable !== null) throw invalid(unreadable)
  if (!/^[A-Za-z0-9_][A-Za-z0-9._+-]*$/.test(name)) throw invalid(`the package has the name ${quote(name)}`)
  const { ver = '', rel = '', epoch = '0' } = Object.fromEntries(parts)
  if (!isPart(ver) || !isPart(rel) || !/^[0-9]{1,10}$/.test(epoch))
    throw invalid(`the package has the version ${quote(`${epoch}:${ver}-${rel}`)}`)
  const arch = texts.get('arch') ?? ''
  if (!/^[a-z0-9_]+$/i.test(arch)) throw invalid(`the package has the architecture ${quote(arch)}`)
  const version = `${Number(epoch) > 0 ? `${Number(epoch)}:` : ''}${ver}-${rel}`
  checkCount('characters in its file name', rpmFilename({ name, version, arch }).length, 220)
  const text = (place: string) => {
    const value = texts.get(place)?.trim() || null
    checkLine(`a ${place}`, value)
    return value
  }
  const source = parseSource(text('format/rpm:sourcerpm') ?? '', `${ver}-${rel}`)
  const installed = pkg.size.get('installed') ?? ''
  return {
    format: 'rpm' as const,
    name,
    version,
    arch,
    section: text('format/rpm:group'),
    description: text('summary')?.split('\n')[0] ?? null,
    maintainer: text('packager') ?? text('format/rpm:vendor'),
    license: text('format/rpm:license'),
    url: text('url'),
    sourcePackage: source?.name ?? null,
    sourceVersion: source?.version ?? null,
    installedSizeKb: /^[0-9]{1,15}$/.test(installed) ? Math.ceil(Number(installed) / 1024) : null,
    requirements: requirementsOf(dependencies),
    provides: [...providesOf(dependencies), ...files.map(({ path }) => ({ name: path }))],
    files: files.filter(({ isDirectory }) => !isDirectory).map(({ path }) => path.slice(1)),
  }
}
