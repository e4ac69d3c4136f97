// The suites test with the Node that they run on: it must be the pinned one, unless TEST_NODE names another one.
import { versions } from '../bin/runtime.mjs'

export function setup(): void {
  const expected = process.env['TEST_NODE'] ?? versions().pinned
  if (process.versions.node !== expected)
    throw new Error(
      `the suites run on Node ${process.versions.node}, not ${expected}: start them with npm or npx, or set TEST_NODE`,
    )
}
