// `download` with the three formats: verified, atomic, and never over another file.
import { createHash } from 'node:crypto'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { buildApk } from '../samples/apk.ts'
import { buildRpm } from '../samples/rpm.ts'
import type { Home } from './gatehouse.ts'
import { deb, type Stage } from './stage.ts'

export function downloadCases(stage: Stage): void {
  describe('download', () => {
    let home: Home
    /** the bytes that were sent, by name */
    const sent = new Map<string, Buffer>()
    beforeAll(async () => {
      const uploader = await stage.home('uploader')
      home = await stage.home('reader')
      const files = {
        'get-deb': [await readFile(join(uploader.path, await deb(uploader, 'get-deb'))), 'noble'],
        'get-rpm': [await buildRpm({ name: 'get-rpm', version: '1.0', release: '1', arch: 'noarch' }), 'rocky9'],
        'get-apk': [buildApk({ name: 'get-apk', version: '1.0-r0' }), 'alpine3.21'],
      } as const
      for (const [name, [bytes, codename]] of Object.entries(files)) {
        const file = `${name}.${name.slice(4)}`
        await writeFile(join(uploader.path, file), bytes)
        const ran = await uploader.run(['upload', file, '-d', codename])
        expect([ran.code, ran.out], ran.err).toEqual([0, expect.stringContaining('published')])
        sent.set(name, Buffer.from(bytes))
      }
    })

    test.each([
      ['get-deb@1.0-1', 'get-deb'],
      ['get-rpm@1.0-1', 'get-rpm'],
      ['get-apk@1.0-r0', 'get-apk'],
    ])('%s is fetched, and its digest and the signed index are verified', async (what, name) => {
      const ran = await home.run(['download', what, '--json'])
      expect([ran.code, ran.err]).toEqual([0, ''])
      const { file, sha256, index_verified: verified } = JSON.parse(ran.out)
      const bytes = await readFile(join(home.path, file))
      // The service signs rpm files, so their bytes are those of the API and not those that were sent.
      expect([verified, createHash('sha256').update(bytes).digest('hex')]).toEqual([true, sha256])
      if (name !== 'get-rpm') expect(bytes.equals(sent.get(name)!)).toBe(true)
    })

    test('the same file again is done; another file of that name stays', async () => {
      await home.run(['download', 'get-deb@1.0-1', '-o', 'mine.deb'])
      expect((await home.run(['download', 'get-deb@1.0-1', '-o', 'mine.deb'])).code).toBe(0)
      await writeFile(join(home.path, 'mine.deb'), 'mine')
      const refused = await home.run(['download', 'get-deb@1.0-1', '-o', 'mine.deb'])
      expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('is there already')])
      expect(await readFile(join(home.path, 'mine.deb'), 'utf8')).toBe('mine')
      expect((await readdir(home.path)).filter((name) => name.endsWith('.partial'))).toEqual([])
    })

    test('what is not there is 6, and without a version it is wrong use', async () => {
      expect((await home.run(['download', 'get-deb@9'])).code).toBe(6)
      expect((await home.run(['download', 'get-deb'])).code).toBe(2)
    })

    test('without gpgv it says that the signature of the index was not verified', async () => {
      const ran = await home.run(['download', 'get-deb@1.0-1', '-o', 'other.deb'], { env: { PATH: '/nothing' } })
      expect([ran.code, ran.err]).toEqual([0, expect.stringContaining('no gpgv')])
    })
  })
}
