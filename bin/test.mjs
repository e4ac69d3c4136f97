// `npm test`: unit, conformance and contract tests; installs and builds what they need. Arguments are passed to vitest.
import { spawnSync } from 'node:child_process'
import { build } from './build.mjs'
import { begin } from './runtime.mjs'

const { version } = await begin()
await build()
const { status } = spawnSync(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', ...process.argv.slice(2)], {
  stdio: 'inherit',
  env: { ...process.env, TEST_NODE: version },
})
process.exit(status ?? 1)
