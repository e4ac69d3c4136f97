// The documentation: link targets exist, commands are valid shell, and endpoints exist.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { declarations } from '../../src/api/contract.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const pages = ['README.md', ...readdirSync(join(ROOT, 'docs')).map((name) => `docs/${name}`)].filter((name) =>
  name.endsWith('.md'),
)
const read = (page: string) => readFileSync(join(ROOT, page), 'utf8')

/** GitHub's anchor for a heading. */
const anchor = (heading: string) =>
  heading
    .toLowerCase()
    .replace(/[^\w\s-]/g, '')
    .replaceAll(' ', '-')

test.each(pages)('links of %s lead somewhere', (page) => {
  const links = [...read(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => link!)
  const broken = links
    .filter((link) => !/^[a-z]+:/.test(link))
    .filter((link) => {
      const [path = '', heading] = link.split('#')
      const file = path === '' ? page : join(dirname(page), path)
      if (!existsSync(join(ROOT, file))) return true
      if (heading === undefined) return false
      const headings = [...read(file).matchAll(/^#+ (.+)$/gm)].map(([, text]) => anchor(text!))
      return !headings.includes(heading)
    })
  expect(broken).toEqual([])
})

test('the README shows two pictures, which do not weigh much', () => {
  const pictures = [...read('README.md').matchAll(/!\[[^\]]+\]\((docs\/pictures\/[^)]+)\)/g)].map(([, path]) => path!)
  expect(pictures).toHaveLength(2)
  for (const path of pictures)
    expect([path, statSync(join(ROOT, path)).size]).toEqual([path, expect.toSatisfy((n) => n < 200_000)])
})

test('docs/README.md names every page', () => {
  const index = read('docs/README.md')
  expect(
    pages
      .filter((page) => page.startsWith('docs/') && !page.endsWith('README.md'))
      .filter((page) => !index.includes(`(${page.slice(5)})`)),
  ).toEqual([])
})

test.each(pages)('commands of %s are shell', (page) => {
  const scripts = [...read(page).matchAll(/^( *)```sh[^\n]*\n([^]*?)^\1```$/gm)].map(([, , script]) => script!)
  for (const input of scripts) {
    const { status, stderr } = spawnSync('bash', ['-n'], { input, encoding: 'utf8' })
    expect(status, `${input}${stderr}`).toBe(0)
  }
})

const shape = (path: string) => path.replace(/\{[^}]*\}|:\w+/g, '{}').replace(/\/$/, '')
const known = new Set(declarations.map(({ method, path }) => `${method} ${shape(path)}`))
/** Pages with notes of decisions name endpoints that do not exist yet. */
const written = pages.filter((page) => page !== 'docs/api-decisions.md')

test.each(written)('endpoints that %s names exist', (page) => {
  const named = [...read(page).matchAll(/`(GET|POST|PUT|PATCH|DELETE) (?:\/api\/v1)?(\/[\w/{}.-]+)/g)]
  const unknown = named
    .map(([, method, path]) => `${method} ${shape(path!)}`)
    .filter((route) => !known.has(route) && !known.has(route.replace(' ', ' /api/v1')))
  expect(unknown).toEqual([])
})
