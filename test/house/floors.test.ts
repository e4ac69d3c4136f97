// The floors: a folder imports itself and lower floors, never a peer; and no imports form a circle.
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { formats } from '../../src/formats/index.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const SRC = join(ROOT, 'src')

/** From the bottom up. A room may import those of lower lines. */
const FLOORS: readonly (readonly string[])[] = [
  ['domain'],
  ['kernel'],
  ['formats', 'config'],
  ['upstream', 'store'],
  ['gate', 'publish', 'serve', 'audit', 'tasks'],
  ['packages', 'accounts'],
  ['intake', 'review', 'registries'],
  ['imports', 'proxies', 'operations'],
  ['api'],
  ['console'],
  ['app'],
]

/** Parts of a room that must not know the rest of it. */
const INDEPENDENT = [
  'formats/archive',
  'formats/solver',
  'formats/readers',
  'store/redis',
  'serve/files',
  'gate/engines',
]

/** The same for the console. Pages import no other pages. */
const CONSOLE_FLOORS: readonly (readonly string[])[] = [['api'], ['session'], ['parts'], ['app'], ['pages']]

const isTest = (name: string) => /(\.test|\.fixture|\/fixture)\.tsx?$/.test(name)

interface Import {
  from: string
  to: string
}

/** The imports of every file of a directory except its tests, as paths relative to the directory. */
function graphOf(directory: string): Map<string, Import[]> {
  const names = readdirSync(directory, { recursive: true, encoding: 'utf8' })
  return new Map(
    names
      .filter((name) => /(?<!\.d)\.tsx?$/.test(name) && !isTest(name))
      .map((file) => [
        file,
        [
          ...readFileSync(join(directory, file), 'utf8').matchAll(
            /^(?:import|export)[^'"]*?from '(\.[^']+)'|^import '(\.[^']+)'|import\('(\.[^']+)'\)/gm,
          ),
        ].map((match) => ({
          from: file,
          to: relative(directory, resolve(directory, dirname(file), match[1] ?? match[2] ?? match[3] ?? '')),
        })),
      ]),
  )
}

const room = (file: string) => (file.includes('/') ? (file.split('/')[0] as string) : '')
/** Files beside the rooms are the programs that something outside starts. */
const floorIn = (floors: readonly (readonly string[])[], file: string) =>
  room(file) === '' ? floors.length : floors.findIndex((rooms) => rooms.includes(room(file)))
const graph = graphOf(SRC)
const consoleGraph = graphOf(join(ROOT, 'web/src'))

/** Imports of a room on the same or a higher floor. */
function upwards(of: Map<string, Import[]>, floors: readonly (readonly string[])[]): Import[] {
  return [...of.values()]
    .flat()
    .filter(({ from, to }) => room(from) !== room(to) && floorIn(floors, to) >= floorIn(floors, from))
}

test.each([
  ['the service', graph, FLOORS],
  ['the console', consoleGraph, CONSOLE_FLOORS],
])('every room of %s has a floor, and imports go down only', (_, of, floors) => {
  const unknown = [...new Set([...of.keys()].map(room))].filter((name) => name !== '' && !floors.flat().includes(name))
  expect(unknown).toEqual([])
  // All rooms of the console may import the files beside them.
  const wrong = upwards(of, floors).filter(({ to }) => of === graph || room(to) !== '')
  expect(wrong).toEqual([])
})

test('pages of the console import no other pages', () => {
  const pageOf = (file: string) => /^pages\/([^/]+)\//.exec(file)?.[1]
  const wrong = [...consoleGraph.values()]
    .flat()
    .filter(({ from, to }) => pageOf(from) && pageOf(to) && pageOf(from) !== pageOf(to))
  expect(wrong).toEqual([])
})

test('some parts of rooms know nothing of the rest', () => {
  const wrong = INDEPENDENT.flatMap((part) =>
    [...graph.values()]
      .flat()
      .filter(({ from, to }) => from.startsWith(`${part}/`) && !to.startsWith(`${part}/`) && room(to) === room(from)),
  )
  expect(wrong).toEqual([])
})

test('one format never imports another', () => {
  const plugin = (file: string) => formats.find(({ id }) => file.startsWith(`formats/${id}/`))?.id
  const wrong = [...graph.values()]
    .flat()
    .filter(({ from, to }) => plugin(from) && plugin(to) && plugin(from) !== plugin(to))
  expect(wrong).toEqual([])
})

test.each(['src', 'web/src', 'cli/src', 'client/src'])('no files of %s import each other in a circle', (directory) => {
  const of = graphOf(join(ROOT, directory))
  expect(of.size).toBeGreaterThan(5)
  const done = new Set<string>()
  const circles: string[] = []
  const visit = (file: string, path: string[]): void => {
    if (path.includes(file)) {
      circles.push([...path.slice(path.indexOf(file)), file].join(' -> '))
      return
    }
    if (done.has(file)) return
    for (const { to } of of.get(file) ?? []) visit(to, [...path, file])
    done.add(file)
  }
  for (const file of of.keys()) visit(file, [])
  expect(circles).toEqual([])
})

test('only the declared places read the process environment', () => {
  const readers = [...graph.keys()].filter((file) => readFileSync(join(SRC, file), 'utf8').includes('process.env'))
  // config/env.ts only names it in a comment; main.ts reads it, once.
  expect(readers.filter((file) => !['main.ts', 'config/env.ts', 'config/variables.ts'].includes(file))).toEqual([])
})
