#!/usr/bin/env node
// Writes the documentation pages that follow from declarations: docs/environment.md and docs/settings.md.
// Usage: npx tsc -p tsconfig.build.json && node bin/docs.mjs
import { writeFile } from 'node:fs/promises'

const root = new URL('../', import.meta.url)

async function built(path) {
  try {
    return await import(new URL(`dist/${path}`, root))
  } catch (error) {
    if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error
    console.error('The pages are made from the built code. Build first: npx tsc -p tsconfig.build.json')
    process.exit(1)
  }
}

const { environmentPage } = await built('config/environment-page.js')
const { settingsPage } = await built('settings/settings-page.js')
await writeFile(new URL('docs/environment.md', root), environmentPage())
await writeFile(new URL('docs/settings.md', root), settingsPage())
