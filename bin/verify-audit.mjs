// `npm run verify-audit -- DIRECTORY | EXPORT`: see src/verify-audit.ts.
import { build } from './build.mjs'
import { begin } from './runtime.mjs'

await begin()
await build()
const { verifyAudit } = /** @type {typeof import('../src/verify-audit.ts')} */ (
  await import(new URL('../dist/verify-audit.js', import.meta.url).href)
)
const code = await verifyAudit(process.argv.slice(2), process.env, { print: console.log, complain: console.error })
process.exit(code)
