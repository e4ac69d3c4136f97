// The service dies: the same command sends interrupted uploads again; waiting and following commands continue.
import { randomBytes } from 'node:crypto'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { deb, type Stage } from './stage.ts'

/** Large enough that the upload is still running when it is noticed. */
const BYTES = 48 * 1024 ** 2

export function killCases(stage: Stage): void {
  describe('a service that is killed', () => {
    test('the same command again is the resume, with one record; --wait and logs --follow go on', async () => {
      const home = await stage.home('uploader')
      const file = await deb(home, 'interrupted', {
        files: { 'usr/share/large': randomBytes(BYTES) },
        compression: 'none',
      })
      const reviewer = await stage.home('admin')
      const waits = reviewer.start(['upload', await deb(reviewer, 'held-kill'), '-d', 'noble', '--wait'])
      const follows = reviewer.start(['logs', '-f', '--text', 'marker-restart'])
      await expect.poll(async () => (await stage.service.call('GET', '/artifacts/held-kill')).status).toBe(200)
      const staging = join(stage.service.reposDir, 'staging', 'incoming')
      const before = new Set(await readdir(staging, { recursive: true }).catch(() => []))
      const arriving = async () => {
        for (const name of await readdir(staging, { recursive: true }).catch(() => []))
          if (!before.has(name) && (await stat(join(staging, name)).catch(() => null))?.isFile()) return true
        return false
      }
      const first = home.start(['upload', file, '-d', 'bookworm'])
      await expect.poll(arriving, { interval: 1 }).toBe(true)
      await stage.service.kill()
      // It retries by itself until it gives up or the service is back.
      await stage.restart()
      expect([0, 1]).toContain((await first.ended).code)
      expect(first.seen.err).toContain('trying again')
      const again = await home.run(['upload', file, '-d', 'bookworm'])
      expect([again.code, again.out]).toEqual([0, expect.stringMatching(/^(published|already_there)\t/)])
      const { body } = await stage.service.call('GET', '/artifacts/interrupted')
      expect(body.versions).toMatchObject([
        { distribution: 'bookworm', status: 'published', size_bytes: expect.any(Number) },
      ])

      await stage.service.call('GET', '/artifacts/marker-restart')
      await expect.poll(() => follows.seen.out).toContain('marker-restart')
      follows.child.kill('SIGINT')
      expect((await follows.ended).code).toBe(130)
      const decision = { decision: 'approve', justification: 'looked at it' }
      await stage.service.call('POST', '/security/packages/held-kill/1.0-1/decide', decision)
      const { code, out } = await waits.ended
      expect([code, out]).toEqual([0, expect.stringMatching(/^published\t/)])
    })
  })
}
