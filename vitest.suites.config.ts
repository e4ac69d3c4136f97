// The slow suites: real package managers, a real clamd, Debian's own tools, kills. They need root or sudo on a Debian
// machine the first time, for the tools they install.
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: [
      'clients',
      'gate',
      'antivirus',
      'oracles',
      'crash',
      'replicas',
      'faults',
      'soak',
      'fuzz',
      'abuse',
      'backup',
      'pool',
      'deploy',
      'cli',
      'console',
      'tracing',
    ].map((suite) => `test/${suite}/**/*.test.ts`),
    globalSetup: ['test/runtime.ts', 'test/build.ts'],
    pool: 'forks',
    // Each file starts services of its own and some measure them: side by side they would measure each other.
    maxWorkers: 1,
    fileParallelism: false,
    // Virtual machines stall: what takes milliseconds may take half a minute. These limits only end what hangs.
    testTimeout: 1_800_000,
    expect: { poll: { timeout: 300_000 } },
    hookTimeout: 1_800_000,
    teardownTimeout: 120_000,
  },
})
