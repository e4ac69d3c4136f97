// The crash cases around which package bytes enter, leave or are looked for in the pool, with packages in an object store.
// What the others pass (signing, manifests, the flip, the audit files) is on the disk there too: test/crash covers it.
import { describe } from 'vitest'
import { testDeaths } from '../crash/die-and-return.ts'
import { OPERATIONS } from '../crash/operations.ts'
import type { Format } from '../crash/packages.ts'

const DEATHS = OPERATIONS.flatMap((operation) =>
  operation.passes
    .filter(([checkpoint]) => operation.alsoInObjects?.includes(checkpoint))
    .map(([checkpoint, then]) => ({ operation, checkpoint, then })),
)

// rpm differs from apt in nothing that the pool sees. apk replaces files of the same name.
describe.each<Format>(['apt', 'apk'])('with %s packages in an object store a process that dies at', (format) => {
  testDeaths(
    { engine: 'postgres', format, inObjects: true },
    DEATHS.filter(({ operation }) => operation.format === format),
  )
})
