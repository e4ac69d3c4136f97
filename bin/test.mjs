// `npm test`: unit, conformance and contract tests; installs and builds what they need. Arguments go to vitest.
import { spawnSync } from 'node:child_process'
import { build, install } from './build.mjs'

install()
await build()
const { status } = spawnSync(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', ...process.argv.slice(2)], {
  stdio: 'inherit',
})
process.exit(status ?? 1)
