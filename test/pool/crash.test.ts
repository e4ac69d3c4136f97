// The crash cases around access to the pool, with packages in an object store. The other checkpoints (signing, manifests, the
// flip, the audit files) only concern the disk here too: test/crash covers them.
import { describe } from 'vitest'
import { testDeaths } from '../crash/die-and-return.ts'
import { OPERATIONS } from '../crash/operations.ts'
import type { Format } from '../crash/packages.ts'

const DEATHS = OPERATIONS.flatMap((operation) =>
  operation.passes
    .filter(([checkpoint]) => operation.alsoInObjects?.includes(checkpoint))
    .map(([checkpoint, then]) => ({ operation, checkpoint, then })),
)

// For the pool, rpm does not differ from apt. apk replaces files of the same name.
describe.each<Format>(['apt', 'apk'])('with %s packages in an object store a process that dies at', (format) => {
  testDeaths(
    { engine: 'postgres', format, inObjects: true },
    DEATHS.filter(({ operation }) => operation.format === format),
  )
})
