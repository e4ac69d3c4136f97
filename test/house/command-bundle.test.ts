// The command's `fetch`, bundled as in the build, against a peer that sends everything and closes while nobody reads.
import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { build } from 'esbuild'
import { expect, test } from 'vitest'
import { undiciEnd } from '../../bin/undici-end.mjs'

/** Answers with bodies as large as the buffers, smaller and larger; read after the end has arrived. */
const SCRIPT = `
  import { createServer } from 'node:net'
  import { once } from 'node:events'
  import { createFetch } from './network.ts'
  const fetch = await createFetch({}, undefined)
  for (const size of [1_000, 65_536, 65_537, 1_000_000])
    for (const length of ['Content-Length: ' + size + '\\r\\n', '']) {
      const sent = []
      const server = createServer((socket) => {
        socket.once('data', () => {
          sent.push(once(socket, 'finish'))
          socket.end(Buffer.concat([Buffer.from('HTTP/1.1 200 OK\\r\\nConnection: close\\r\\n' + length + '\\r\\n'), Buffer.alloc(size)]))
        })
      }).listen(0, '127.0.0.1')
      await once(server, 'listening')
      const answer = await fetch('http://127.0.0.1:' + server.address().port + '/')
      if (size <= 65_537) await Promise.all(sent)
      let read = 0
      for await (const piece of answer.body) {
        for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
        read += piece.length
      }
      console.log(size, read)
      server.close()
    }
  process.exit(0)`

test('an answer is read whole, and the process lives', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'network-'))
  try {
    const outfile = join(directory, 'fetch.mjs')
    await build({
      stdin: { contents: SCRIPT, resolveDir: join(import.meta.dirname, '../../cli/src') },
      ...{ outfile, bundle: true, platform: 'node', target: 'node20', format: 'esm', plugins: [undiciEnd] },
      banner: { js: `import { createRequire } from 'node:module'\nconst require = createRequire(import.meta.url)` },
      logLevel: 'silent',
    })
    const child = spawn(process.execPath, [outfile], { stdio: ['ignore', 'pipe', 'inherit'] })
    const printed = text(child.stdout)
    const code = await new Promise((resolve) => child.once('exit', resolve))
    const lines = (await printed).trim().split('\n')
    expect(lines).toEqual([1_000, 65_536, 65_537, 1_000_000].flatMap((size) => Array(2).fill(`${size} ${size}`)))
    expect(code).toBe(0)
  } finally {
    await rm(directory, { recursive: true })
  }
})
