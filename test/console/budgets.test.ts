// The bytes of the console as browsers load them: gzip of every file, including everything that a file imports.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const BUILT = join(import.meta.dirname, '..', '..', 'dist', 'web')
/** In KB of 1,000 bytes; the figures are from the issue that asked for the console. */
const BUDGET = { firstScripts: 210, styles: 40, firstRequests: 10, review: 55, page: 30, all: 450 }
const REVIEW = 'src/pages/review/queue.tsx'

/** The used part of Vite's manifest: files by their source, with static and dynamic imports. */
type Manifest = Record<string, { file: string; imports?: string[]; dynamicImports?: string[]; css?: string[] }>

const manifest = JSON.parse(readFileSync(join(BUILT, '.vite', 'manifest.json'), 'utf8')) as Manifest
const entry = 'index.html'

/** A chunk and everything that must be loaded before it runs. */
function loadedBy(name: string, seen = new Set<string>()): Set<string> {
  if (seen.has(name)) return seen
  seen.add(name)
  for (const next of manifest[name]?.imports ?? []) loadedBy(next, seen)
  return seen
}

const weights = new Map(
  readdirSync(join(BUILT, 'assets'))
    .filter((name) => name.endsWith('.gz'))
    .map((name) => [`assets/${name.slice(0, -3)}`, readFileSync(join(BUILT, 'assets', name)).length]),
)
const weigh = (files: readonly string[]) => files.reduce((sum, file) => sum + (weights.get(file) ?? NaN), 0) / 1000
const scripts = (names: Iterable<string>) => [...names].map((name) => manifest[name]?.file ?? name)

const first = loadedBy(entry)
const styles = [...first].flatMap((name) => manifest[name]?.css ?? [])
const pages = Object.keys(manifest).filter((name) => name.startsWith('src/pages/'))

test('the first load of every visit is below its budget', () => {
  expect(weigh(scripts(first))).toBeLessThanOrEqual(BUDGET.firstScripts)
  expect(weigh(styles)).toBeLessThanOrEqual(BUDGET.styles)
  expect(styles.length).toBeGreaterThan(0)
  const page = readFileSync(join(BUILT, 'index.html'), 'utf8')
  const requests = [...page.matchAll(/(?:src|href)="\.\/(assets\/[^"]+)"/g)].map(([, file]) => file)
  // The page itself is one request; it names everything that the first script imports, and its icon.
  const icon = requests.filter((file) => file?.endsWith('.svg'))
  expect(icon).toHaveLength(1)
  expect(new Set(requests)).toEqual(new Set([...scripts(first), ...styles, ...icon]))
  expect(1 + requests.length).toBeLessThanOrEqual(BUDGET.firstRequests)
})

test('each page adds less than its budget, shared parts included', () => {
  expect(pages.length).toBeGreaterThan(20)
  const heavy = pages.flatMap((name) => {
    const added = weigh(scripts([...loadedBy(name)].filter((one) => !first.has(one))))
    const most = name === REVIEW ? BUDGET.review : BUDGET.page
    return added <= most ? [] : [`${name}: ${added.toFixed(1)} KB, at most ${most}`]
  })
  expect(heavy).toEqual([])
  expect(pages).toContain(REVIEW)
})

test('everything together', () => {
  expect(weigh([...weights.keys()])).toBeLessThanOrEqual(BUDGET.all)
})
