#!/usr/bin/env node
// Writes the documentation pages that are generated from declarations: docs/environment.md, docs/settings.md,
// docs/distributions.md, docs/cli.md.
// Usage: npx tsc -p tsconfig.build.json && node bin/docs.mjs
import { execFileSync } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

const root = new URL('../', import.meta.url)

/** @param {string} path below src, without suffix */
async function built(path) {
  try {
    return await import(new URL(`dist/${path}.js`, root).href)
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ERR_MODULE_NOT_FOUND') throw error
    console.error('The pages are made from the built code. Build first: npx tsc -p tsconfig.build.json')
    process.exit(1)
  }
}

/** @type {typeof import('../src/config/environment-page.ts')} */
const { environmentPage } = await built('config/environment-page')
/** @type {typeof import('../src/config/settings/settings-page.ts')} */
const { settingsPage } = await built('config/settings/settings-page')
/** @type {typeof import('../src/formats/declared/distributions-page.ts')} */
const { distributionsPage } = await built('formats/declared/distributions-page')
/** @type {typeof import('../src/api/http/problems-page.ts')} */
const { problemsPage } = await built('api/http/problems-page')
/** @type {typeof import('../src/formats/index.ts')} */
const { formats } = await built('formats/index')
await writeFile(new URL('docs/distributions.md', root), distributionsPage(formats))
await writeFile(new URL('docs/error-codes.md', root), problemsPage())
await writeFile(new URL('docs/environment.md', root), environmentPage())
await writeFile(new URL('docs/settings.md', root), settingsPage())
const command = fileURLToPath(new URL('dist/cli/gatehouse.mjs', root))
const reference = execFileSync(process.execPath, [command, 'reference'], { encoding: 'utf8' })
await writeFile(new URL('docs/cli.md', root), (await readFile(new URL('cli/guide.md', root), 'utf8')) + reference)
