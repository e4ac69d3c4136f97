// `npm run restore -- ARCHIVE`: see src/operations/backup/restore-command.ts.
import { build } from './build.mjs'
import { begin } from './runtime.mjs'

await begin()
await build()
const { restore } = /** @type {typeof import('../src/restore.ts')} */ (
  await import(new URL('../dist/restore.js', import.meta.url).href)
)
const code = await restore(process.argv.slice(2), process.env, { print: console.log, complain: console.error })
process.exit(code)
