// The floors of the house: a folder imports itself and lower floors, never a peer; and nothing imports in a circle.
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { expect, test } from 'vitest'

const SRC = resolve(import.meta.dirname, '../../src')

const FLOORS: Record<string, number> = {
  domain: 0,
  kernel: 1,
  config: 2,
  redis: 2,
  archive: 2,
  'http-files': 2,
  solver: 2,
  supervisor: 2,
  readers: 2,
  tracing: 2,
  formats: 3,
  store: 3,
  scanners: 3,
  signing: 3,
  publish: 4,
  records: 4,
  gate: 4,
  tasks: 4,
  upstream: 4,
  intake: 5,
  accounts: 6,
  review: 6,
  imports: 6,
  installability: 6,
  settings: 6,
  sbom: 6,
  backup: 6,
  insight: 6,
  downloads: 6,
  drift: 6,
  notify: 6,
  retention: 6,
  api: 7,
  jobs: 7,
  serve: 7,
  console: 8,
  wiring: 9,
}
const TOP = 10
/** A plug-in's pure interface may be seen by the peers that hand it keys (signing). */
const TYPES_OF_PEERS = new Set(['signing -> formats/format.ts'])

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
const floor = (file: string) => (room(file) === '' ? TOP : FLOORS[room(file)])
const graph = new Map(files.filter((file) => !isTest(file)).map((file) => [file, importsOf(file)]))

test('every room has a floor', () => {
  const unknown = [...new Set(files.map(room))].filter((name) => name !== '' && FLOORS[name] === undefined)
  expect(unknown).toEqual([])
})

test('imports go down only', () => {
  const wrong = [...graph.values()].flat().filter(({ from, to }) => {
    if (room(from) === room(to)) return false
    if (TYPES_OF_PEERS.has(`${room(from)} -> ${to}`)) return false
    return (floor(to) ?? TOP) >= (floor(from) ?? -1)
  })
  expect(wrong).toEqual([])
})

test('one format never imports another', () => {
  const plugin = (file: string) => /^formats\/([^/]+)\//.exec(file)?.[1]
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
