// Packages as arguments: `hello`, `hello@2.10-3`.
import type { Argument, Flag, Given } from './command.ts'
import { usage } from './failure.ts'

export interface NamedPackage {
  name: string
  version: string | undefined
}

/** No name of a package has an @ behind its first character, and no version has one. @throws Failure */
export function packageIn(text: string): NamedPackage {
  const at = text.indexOf('@', 1)
  if (at === -1) return { name: text, version: undefined }
  const version = text.slice(at + 1)
  if (version === '') throw usage(`${text} names no version; write ${text}VERSION, or leave the @ out`)
  return { name: text.slice(0, at), version }
}

const PKG = 'PKG'
const VERSION = 'VERSION'

/** Arguments of a command about one version. */
export const ONE_VERSION: readonly Argument[] = [
  { name: 'PKG@VERSION', summary: 'the package and its version, such as hello@2.10-3' },
  { name: VERSION, optional: true, hidden: true, summary: 'the version' },
]

/** Arguments of a command about one package, or one version of it. */
export const ANY_VERSION: readonly Argument[] = [
  { name: 'PKG[@VERSION]', summary: 'the package, or one version of it' },
  { name: VERSION, optional: true, hidden: true, summary: 'the version' },
]

/** The flag that gave the version before `PKG@VERSION` did. */
export const VERSION_OF: Flag = { name: 'version-of', value: 'VERSION', hidden: true, summary: 'the version' }

/** The package that the arguments name. @throws Failure when two versions are named */
export function namedPackage(given: Given): NamedPackage {
  const text = given.text('PKG@VERSION') ?? given.text('PKG[@VERSION]') ?? given.text('package')
  if (text === undefined) throw usage(`${PKG} is missing`)
  return withVersion(packageIn(text), given.text(VERSION) ?? given.text('version-of'))
}

/** @param other the version as it was named elsewhere. @throws Failure when both name one */
export function withVersion({ name, version }: NamedPackage, other: string | undefined): NamedPackage {
  if (version !== undefined && other !== undefined && version !== other)
    throw usage(`two versions are named: ${version} and ${other}`)
  return { name, version: version ?? other }
}

/** The version that the arguments name. @throws Failure when they name none */
export function namedVersion(given: Given): { name: string; version: string } {
  const { name, version } = namedPackage(given)
  if (version === undefined)
    throw usage(`the version is missing: ${name}@VERSION; \`gatehouse show ${name}\` lists them`)
  return { name, version }
}
