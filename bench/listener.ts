// The process that bench/serve.ts measures: a repository listener alone. Arguments: repository directory, port.
import { join } from 'node:path'
import { formats } from '../src/formats/index.ts'
import { systemClock as clock } from '../src/kernel/clock.ts'
import { createLog } from '../src/kernel/log.ts'
import { createAccessLog } from '../src/serve/access-log.ts'
import { mountsOf } from '../src/serve/mounts.ts'
import { createRepositoryListener } from '../src/serve/repository-listener.ts'

const [reposDir = '', port] = process.argv.slice(2)
const log = createLog('info')
const listener = createRepositoryListener({
  reposDir,
  mounts: mountsOf('apt', formats, formats),
  accessLog: createAccessLog({ path: join(reposDir, 'logs/access-apt.log'), clock, log }),
  clock,
  log,
})
await listener.listen(Number(port), '127.0.0.1')
process.once('SIGTERM', () => void listener.close(1000))
