import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Without figures of an earlier run vitest begins with the largest files. Those of the contract are small and take longest. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const isLong = ({ moduleId }: TestSpecification) => moduleId.includes('/test/contract/')
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))]
  }
}

export default defineConfig({
  test: {
    include: [
      'src/**/*.test.ts',
      'client/**/*.test.ts',
      'cli/**/*.test.ts',
      'web/**/*.test.ts',
      'test/contract/**/*.test.ts',
      'test/house/**/*.test.ts',
    ],
    globalSetup: 'test/runtime.ts',
    pool: 'forks',
    sequence: { sequencer: LongestFirst },
    // One more than processors: each waits for its database and disk now and then.
    maxWorkers: 3,
    // No module keeps state (ARCHITECTURE.md), so files share what their worker has loaded: a third less CPU time.
    isolate: false,
    // An embedded database lives for seconds here, and optimizing its code never pays: all tests took 818 s, now 709 s.
    execArgv: ['--liftoff-only'],
    // Virtual machines stall: what takes milliseconds may take half a minute. These limits only end what hangs.
    testTimeout: 600_000,
    expect: { poll: { timeout: 180_000 } },
    hookTimeout: 600_000,
  },
})
