import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/contract/**/*.test.ts', 'test/house/**/*.test.ts'],
    pool: 'forks',
    // Threads that the sources start are loaded by Node, not by vitest.
    execArgv: ['--import', new URL('./test/typescript.mjs', import.meta.url).href],
    // One more than processors: each waits for its database and disk now and then.
    maxWorkers: 3,
    // No module keeps state (ARCHITECTURE.md), so files share what their worker has loaded: a third less CPU time.
    isolate: false,
    // Virtual machines stall: what takes milliseconds may take half a minute. These limits only end what hangs.
    testTimeout: 600_000,
    expect: { poll: { timeout: 180_000 } },
    hookTimeout: 600_000,
  },
})
