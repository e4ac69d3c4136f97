import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/contract/**/*.test.ts', 'test/house/**/*.test.ts'],
    pool: 'forks',
    // Threads that the sources start are loaded by Node, not by vitest.
    execArgv: ['--import', new URL('./test/typescript.mjs', import.meta.url).href],
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
})
