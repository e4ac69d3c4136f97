import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/contract/**/*.test.ts', 'test/house/**/*.test.ts'],
    pool: 'forks',
    // Threads that the sources start are loaded by Node, not by vitest.
    execArgv: ['--import', new URL('./test/typescript.mjs', import.meta.url).href],
    maxWorkers: 2,
    // No module keeps state (ARCHITECTURE.md), so files share what their worker has loaded: a third less CPU time.
    isolate: false,
    testTimeout: 120_000,
    // The default, a second, is too short for a virtual machine that shares its processors.
    expect: { poll: { timeout: 30_000 } },
    hookTimeout: 240_000,
  },
})
