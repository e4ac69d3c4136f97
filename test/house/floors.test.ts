// The floors of the house: a folder imports itself and lower floors, never a peer; and nothing imports in a circle.
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { formats } from '../../src/formats/index.ts'

const SRC = resolve(import.meta.dirname, '../../src')

/** From the bottom up. A room may import those of lower lines. */
const FLOORS: readonly (readonly string[])[] = [
  ['domain'],
  ['kernel'],
  ['formats', 'config'],
  ['upstream', 'store'],
  ['gate', 'publish', 'serve', 'audit', 'tasks'],
  ['packages', 'accounts'],
  ['intake', 'review'],
  ['imports', 'operations'],
  ['api'],
  ['console'],
  ['app'],
]

/** Parts of a room that know nothing of the rest of it. */
const INDEPENDENT = [
  'formats/archive',
  'formats/solver',
  'formats/readers',
  'store/redis',
  'serve/files',
  'gate/engines',
]

const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))
const isTest = (name: string) => /(\.test|\.fixture|\/fixture)\.ts$/.test(name)

interface Import {
  from: string
  to: string
}

function importsOf(file: string): Import[] {
  const text = readFileSync(join(SRC, file), 'utf8')
  return [
    ...text.matchAll(/^(?:import|export)[^'"]*?from '(\.[^']+)'|^import '(\.[^']+)'|import\('(\.[^']+)'\)/gm),
  ].map((match) => ({
    from: file,
    to: relative(SRC, resolve(join(SRC, dirname(file)), match[1] ?? match[2] ?? match[3] ?? '')),
  }))
}

const room = (file: string) => (file.includes('/') ? (file.split('/')[0] as string) : '')
/** Files beside the rooms are the programs that something outside starts. */
const floor = (file: string) =>
  room(file) === '' ? FLOORS.length : FLOORS.findIndex((rooms) => rooms.includes(room(file)))
const graph = new Map(files.filter((file) => !isTest(file)).map((file) => [file, importsOf(file)]))

test('every room has a floor', () => {
  const unknown = [...new Set(files.map(room))].filter((name) => name !== '' && !FLOORS.flat().includes(name))
  expect(unknown).toEqual([])
})

test('imports go down only', () => {
  const wrong = [...graph.values()].flat().filter(({ from, to }) => {
    if (room(from) === room(to)) return false
    return floor(to) >= floor(from)
  })
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

test('no files import each other in a circle', () => {
  const done = new Set<string>()
  const circles: string[] = []
  const visit = (file: string, path: string[]): void => {
    if (path.includes(file)) {
      circles.push([...path.slice(path.indexOf(file)), file].join(' -> '))
      return
    }
    if (done.has(file)) return
    for (const { to } of graph.get(file) ?? []) visit(to, [...path, file])
    done.add(file)
  }
  for (const file of graph.keys()) visit(file, [])
  expect(circles).toEqual([])
})

test('only the declared places read the process environment', () => {
  const readers = files.filter((file) => !isTest(file) && readFileSync(join(SRC, file), 'utf8').includes('process.env'))
  // config/env.ts only names it in a comment; main.ts reads it, once.
  expect(readers.filter((file) => !['main.ts', 'config/env.ts', 'config/variables.ts'].includes(file))).toEqual([])
})
