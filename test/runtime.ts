// Suites prove something about the Node they run on: the pinned one, unless TEST_NODE names another that is meant.
import { versions } from '../bin/runtime.mjs'

export function setup(): void {
  const expected = process.env['TEST_NODE'] ?? versions().pinned
  if (process.versions.node !== expected)
    throw new Error(
      `the suites run on Node ${process.versions.node}, not ${expected}: start them with npm or npx, or set TEST_NODE`,
    )
}
