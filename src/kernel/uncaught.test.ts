// Uncaught errors, in separate processes: what fails, what continues, and how the process ends.
import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'

/** Runs a module with `log` (its messages are printed), `watchUncaught` and `runWork`. */
async function run(body: string): Promise<{ code: number | null; lines: string[] }> {
  const kernel = (name: string) => JSON.stringify(new URL(name, import.meta.url).href)
  const script = `
    import { createServer } from 'node:http'
    import { connect } from 'node:net'
    import { once } from 'node:events'
    import { watchUncaught } from ${kernel('./uncaught.ts')}
    import { createConnections } from ${kernel('./connections.ts')}
    import { currentWork, runWork } from ${kernel('./work.ts')}
    const say = (line) => console.log(line)
    const write = (fields, text) => say(text === undefined ? fields : text + (fields.err ? ' (' + fields.err.message + ')' : ''))
    const log = { error: write, fatal: write }
    const later = (message) => setImmediate(() => { throw new Error(message) })
    ${body}`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const printed = text(child.stdout)
  const code = await new Promise<number | null>((resolve) => child.once('exit', resolve))
  return { code, lines: (await printed).trim().split('\n') }
}

describe('an error that nothing catches', () => {
  test('outside of requests and tasks ends the process in order, with a code that is not 0', async () => {
    const { code, lines } = await run(`
      const uncaught = watchUncaught({ log })
      later('one')
      setInterval(() => {}, 1000)
      await uncaught.fatal
      say('closing')
      say(JSON.stringify(uncaught.counts()))
      process.exit(uncaught.exitCode(0))`)
    expect(lines).toEqual([
      'an uncaught exception: the process ends in order (one)',
      'closing',
      '{"request":0,"task":0,"process":1}',
    ])
    expect(code).toBe(1)
  })

  test('in a promise counts as well, and a code that is not 0 stays', async () => {
    const { code, lines } = await run(`
      const uncaught = watchUncaught({ log })
      void Promise.reject(new Error('two'))
      setInterval(() => {}, 1000)
      await uncaught.fatal
      process.exit(uncaught.exitCode(7))`)
    expect(lines).toEqual(['an unhandled rejection: the process ends in order (two)'])
    expect(code).toBe(7)
  })

  test('in a shutdown that then never ends is followed by the end of the process', async () => {
    const { code, lines } = await run(`
      const uncaught = watchUncaught({ log, endMs: 100 })
      later('first')
      setInterval(() => {}, 1000)
      await uncaught.fatal
      later('second')
      await new Promise(() => {})`)
    expect(lines).toEqual([
      'an uncaught exception: the process ends in order (first)',
      'an uncaught exception while the process ends (second)',
      'the process did not end in order; it ends now',
    ])
    expect(code).toBe(1)
  })

  test.each([
    ['in a timer', `setTimeout(() => { throw new Error('x') }, 1)`],
    ['in a promise', `void (async () => { await null; throw new Error('x') })()`],
    ['in an event of a socket', `connect(1, '127.0.0.1')`],
  ])('%s of work that runs fails this work alone', async (_, begin) => {
    const { code, lines } = await run(`
      const uncaught = watchUncaught({ log })
      const work = { kind: 'task', about: () => ({}), isOver: false }
      const failed = new Promise((resolve) => (work.fail = resolve))
      const other = { kind: 'task', about: () => ({}), isOver: false, fail: () => say('the wrong one failed') }
      runWork(other, () => runWork(work, () => { ${begin} }))
      await failed
      say(JSON.stringify(uncaught.counts()))
      process.exit(uncaught.exitCode(0))`)
    expect(lines[0]).toMatch(/: the task fails \(/)
    expect(lines.slice(1)).toEqual(['{"request":0,"task":1,"process":0}'])
    expect(code).toBe(0)
  })

  test('of work that is over ends the process', async () => {
    const { lines } = await run(`
      const uncaught = watchUncaught({ log })
      const work = { kind: 'task', about: () => ({}), isOver: false, fail: () => say('failed') }
      runWork(work, () => later('late'))
      work.isOver = true
      await uncaught.fatal`)
    expect(lines).toEqual(['an uncaught exception: the process ends in order (late)'])
  })

  test('fails the request that causes it, also where its body arrives, and no other', async () => {
    const { code, lines } = await run(`
      const uncaught = watchUncaught({ log })
      const held = []
      const server = createServer()
      const connections = createConnections(server, (request, response) => {
        if (request.url === '/held') held.push(response)
        else if (request.url === '/timer') later('of a timer')
        else request.on('data', () => { throw new Error('of a body') })
        return () => {}
      }, (request, response) => response.writeHead(500, { 'content-length': 0, connection: 'close' }).end())
      server.on('request', connections.admit)
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
      const ask = async (path, body = '') => {
        const socket = connect(server.address().port, '127.0.0.1')
        socket.write('POST ' + path + ' HTTP/1.1\\r\\nhost: a\\r\\ncontent-length: 5\\r\\n\\r\\n')
        if (body) for (let n = 0; n < 20; n++) await new Promise((resolve) => setImmediate(resolve))
        socket.write(body)
        const [answer] = await once(socket, 'data')
        socket.destroy()
        return String(answer).slice(9, 12)
      }
      const other = ask('/held')
      say(await ask('/timer'))
      say(await ask('/body', 'body!'))
      held[0].end()
      say(await other)
      say(JSON.stringify(uncaught.counts()))
      process.exit(uncaught.exitCode(0))`)
    expect(lines).toEqual([
      'an uncaught exception: the request fails (of a timer)',
      '500',
      'an uncaught exception: the request fails (of a body)',
      '500',
      '200',
      '{"request":2,"task":0,"process":0}',
    ])
    expect(code).toBe(0)
  })
})
