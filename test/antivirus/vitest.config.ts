// The suite that needs a real clamd (Debian: clamav-daemon); it brings its own signatures and needs no network.
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/antivirus/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 1,
    testTimeout: 120_000,
    hookTimeout: 60_000,
  },
})
