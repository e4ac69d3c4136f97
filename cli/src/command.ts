// The definition of a command. Parser, help, completion, manual and documentation follow from the table of commands.
import type { Client } from 'gatehouse-client'
import type { Access } from './access.ts'
import type { Exit } from './exits.ts'
import { usage } from './failure.ts'
import type { Terminal } from './terminal.ts'

export interface Argument {
  name: string
  summary: string
  optional?: boolean
  many?: boolean
  /** completed with file names */
  files?: boolean
  choices?: readonly string[]
  /** an older spelling: it works, and help does not show it */
  hidden?: boolean
}

export interface Flag {
  /** without dashes */
  name: string
  short?: string
  /** name of the value; a flag without one is on or off */
  value?: string
  /** may be given several times */
  many?: boolean
  /** the value when the flag has none: `--wait` or `--wait=2h` */
  bare?: string
  choices?: readonly string[]
  required?: boolean
  files?: boolean
  summary: string
  /** an older spelling: it works, and help does not show it */
  hidden?: boolean
}

export interface Command {
  /** one word, or a group and a word: `review list` */
  name: string
  /** one line */
  summary: string
  /** further text for its help */
  details?: string
  arguments?: readonly Argument[]
  flags?: readonly Flag[]
  /** what the example does, and its command line without `gatehouse` */
  examples?: readonly (readonly [string, string])[]
  /** not listed in help */
  hidden?: boolean
  run(context: Context, given: Given): Promise<Exit | undefined>
}

/** The environment of a command. */
export interface Context {
  terminal: Terminal
  /** print one JSON document instead of text; also with `--fields` */
  json: boolean
  /** whether `--fields` was given: of a list, only the rows are printed */
  fields: boolean
  env: Readonly<Record<string, string | undefined>>
  version: string
  /** version of Node */
  node: string
  /** aborted when the person interrupts */
  signal: AbortSignal
  access: Access
  /** the signed-in client for the service that flags, environment and configuration name. @throws Failure */
  client(): Promise<Client>
}

/** The arguments and flags that help, manual and documentation show. */
export const shown = <T extends { hidden?: boolean }>(items: readonly T[] | undefined): readonly T[] =>
  (items ?? []).filter(({ hidden }) => !hidden)

/** The given arguments and flags. */
export interface Given {
  text(name: string): string | undefined
  list(name: string): string[]
  is(name: string): boolean
  /** @throws Failure when it is not a whole number in the range */
  number(name: string, least: number, most: number): number | undefined
}

export function givenOf(values: Readonly<Record<string, unknown>>): Given {
  const text = (name: string) => (typeof values[name] === 'string' ? values[name] : undefined)
  return {
    text,
    list(name) {
      const value = values[name]
      return Array.isArray(value) ? (value as string[]) : typeof value === 'string' ? [value] : []
    },
    is: (name) => values[name] === true,
    number(name, least, most) {
      const value = text(name)
      if (value === undefined) return undefined
      const number = Number(value)
      if (!/^\d+$/.test(value) || number < least || number > most)
        throw usage(`--${name} is a whole number from ${least} to ${most}, not ${value}`)
      return number
    },
  }
}

/** A required argument or flag, which the parser has checked. */
export function must(given: Given, name: string): string {
  const value = given.text(name)
  if (value === undefined) throw usage(`${name} is missing`)
  return value
}

/** A flag that may be given several times; undefined without it. */
export function listed(given: Given, name: string): string[] | undefined {
  const values = given.list(name)
  return values.length > 0 ? values : undefined
}

/** The argument ID. @throws Failure when it is no number */
export function idOf(given: Given): number {
  const text = must(given, 'ID')
  if (!/^[1-9]\d{0,14}$/.test(text)) throw usage(`ID is a number, not ${text}`)
  return Number(text)
}

/** Flags that several commands share, so that they mean the same everywhere. */
export const FLAGS = {
  distribution: { name: 'distribution', short: 'd', value: 'CODENAME', summary: 'only in this distribution' },
  arch: { name: 'arch', value: 'ARCH', summary: 'only for this architecture' },
  limit: { name: 'limit', value: 'N', summary: 'at most so many, 1 to 200 (default 50)' },
  page: { name: 'page', value: 'N', summary: 'which page of them (default 1)' },
  all: { name: 'all', summary: 'every page, as it arrives; with --json one row a line' },
  dryRun: { name: 'dry-run', summary: 'change nothing, and say what would happen' },
  yes: { name: 'yes', short: 'y', summary: 'do not ask' },
  output: {
    name: 'output',
    short: 'o',
    value: 'FILE',
    files: true,
    summary: 'write to this file instead of standard output',
  },
} as const satisfies Record<string, Flag>

/** Flags of lists that come in pages. */
export const PAGES: readonly Flag[] = [FLAGS.all, FLAGS.limit, FLAGS.page]

/** Flags of every command. */
export const GLOBAL_FLAGS: readonly Flag[] = [
  { name: 'url', value: 'URL', summary: 'address of the service (GATEHOUSE_URL)' },
  { name: 'profile', value: 'NAME', summary: 'which sign-in of the configuration (GATEHOUSE_PROFILE)' },
  { name: 'ca-file', value: 'FILE', files: true, summary: 'trust the certificates in this PEM file too' },
  { name: 'json', summary: 'one JSON document, with the fields of the API' },
  {
    name: 'fields',
    value: 'NAMES',
    summary:
      'only these fields of the API, with tabs between them, one line for each row; sla.status is a field inside one',
  },
  { name: 'quiet', short: 'q', summary: 'no progress, only errors' },
]
