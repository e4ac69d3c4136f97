// Names of Python projects, and the names of their files.
import { normalPep440 } from '../../domain/versions/pep440.ts'
import type { PypiFile } from './record.ts'

const LONGEST_NAME = 200

/** PEP 503 and 508: the one way to write a project's name; null for a text that is no name. */
export function canonicalName(name: string): string | null {
  if (name.length > LONGEST_NAME || !/^[A-Z0-9](?:[A-Z0-9._-]*[A-Z0-9])?$/i.test(name)) return null
  return name.toLowerCase().replace(/[-_.]+/g, '-')
}

/** `files/left/left-1.0.tar.gz` */
export function fileAt(path: string): { name: string; filename: string } | null {
  const [, project = '', filename] = /^files\/([^/]+)\/([^/]+)$/.exec(path) ?? []
  const name = canonicalName(project)
  return name === null || filename === undefined ? null : { name, filename }
}

/** Tells the files of a version apart. A version has one source distribution, whatever its archive. */
export function archOf(file: PypiFile): string {
  if (file.kind === 'sdist') return 'sdist'
  const { build, python, abi, platform } = file
  return [...(build === null ? [] : [build]), ...[python, abi, platform].map(inOrder)].join('-')
}

/** Tools write the tags of a wheel in several orders: `manylinux_2_17_x86_64` is in front of `manylinux2014_x86_64` here, as most have it. */
function inOrder(tags: string): string {
  const key = (tag: string) => tag.replaceAll('_', ' ')
  return tags
    .split('.')
    .sort((a, b) => (key(a) < key(b) ? -1 : 1))
    .join('.')
}

/** The name that follows from what the file says (binary distribution format; PEP 625). */
export function filenameOf(name: string, version: string, file: PypiFile): string {
  const stem = `${name.replaceAll('-', '_')}-${version}`
  return file.kind === 'sdist' ? `${stem}.${file.archive}` : `${stem}-${archOf(file)}.whl`
}

/**
 * Whether a file name that a client states means this file. Names and versions may be spelled differently, and tags may be in another
 * order, as older tools do; what the file is called here follows from its content alone.
 */
export function means(stated: string, name: string, version: string, file: PypiFile): boolean {
  const said = readFilename(stated)
  if (!said || said.name !== name || said.version !== version || said.file.kind !== file.kind) return false
  if (said.file.kind === 'sdist') return said.file.archive === (file as typeof said.file).archive
  const { build, python, abi, platform } = file as typeof said.file
  return (
    said.file.build === build &&
    inOrder(said.file.python) === inOrder(python) &&
    inOrder(said.file.abi) === inOrder(abi) &&
    inOrder(said.file.platform) === inOrder(platform)
  )
}

export interface StatedFile {
  name: string
  version: string
  file: PypiFile
}

/** What a file name says; null for one that follows neither form. */
export function readFilename(filename: string): StatedFile | null {
  const source = /^([^/]+)-([^-/]+)\.(tar\.gz|zip)$/.exec(filename)
  if (source) {
    const [, name, version, archive] = source
    return stated(name!, version!, { kind: 'sdist', archive: archive as 'tar.gz' | 'zip' })
  }
  const wheel = /^([^-/]+)-([^-/]+)(?:-(\d[^-/]*))?-([^-/]+)-([^-/]+)-([^-/]+)\.whl$/.exec(filename)
  if (!wheel) return null
  const [, name, version, build = null, python, abi, platform] = wheel
  return stated(name!, version!, { kind: 'wheel', build, python: python!, abi: abi!, platform: platform! })
}

function stated(name: string, version: string, file: PypiFile): StatedFile | null {
  const known = { name: canonicalName(name), version: normalPep440(version) }
  return known.name !== null && known.version !== null ? { name: known.name, version: known.version, file } : null
}
