// Runs dnf against the service.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { runAsRoot } from './command.ts'
import { dnf } from './dnf-root.ts'
import { rpmClientSuite } from './rpm-client-suite.ts'
import { flipByte } from './tampering-proxy.ts'

rpmClientSuite(dnf, ['almalinux9', 'rocky9', 'fedora'], ({ service, newRoot, publish }) => {
  describe('dnf queries', () => {
    it('finds packages by provides, requires, obsoletes, files and changelog', async () => {
      await publish({
        name: 'asked',
        arch: 'noarch',
        provides: ['asked(api) = 2'],
        requires: ['asked-library >= 1:2-3'],
        obsoletes: ['asked-before < 4'],
        recommends: ['asked-helper'],
        files: [
          { path: '/usr/bin/asked', content: '#!', mode: 0o100755 },
          { path: '/usr/share/asked/deep/file', content: 'x' },
          { path: '/var/log/asked.log', kind: 'ghost' },
        ],
        changelogs: [
          { time: 1_700_000_000, author: 'Jürgen <j@example.org> - 1.0-1', text: '- mended <everything> & more' },
        ],
      })
      const root = await newRoot()
      const query = async (...args: string[]) => {
        const { code, text } = await root.run('-q', 'repoquery', '--available', ...args)
        expect(code, text).toBe(0)
        return text.split('\n').filter((line) => line !== '' && !/^(Importing|\s*(Userid|Fingerprint|From))/.test(line))
      }
      expect((await root.refresh()).code).toBe(0)
      const found = ['asked-0:1.0-1.noarch']
      expect(await query('--whatprovides', 'asked(api) >= 2')).toEqual(found)
      expect(await query('--whatprovides', 'asked(api) >= 3')).toEqual([])
      expect(await query('--whatrequires', 'asked-library')).toEqual(found)
      expect(await query('--whatobsoletes', 'asked-before = 3')).toEqual(found)
      expect(await query('--whatrecommends', 'asked-helper')).toEqual(found)
      expect(await query('--file', '/usr/share/asked/deep/file')).toEqual(found)
      expect(await query('-l', 'asked')).toEqual(['/usr/bin/asked', '/usr/share/asked/deep/file', '/var/log/asked.log'])
      expect((await query('--changelogs', 'asked')).join('\n')).toContain('- mended <everything> & more')
    })

    it('reports no error for missing groups, modules and advisories', async () => {
      await publish({ name: 'plain' })
      const root = await newRoot()
      for (const args of [['updateinfo', 'list'], ['module', 'list'], ['check-update'], ['search', 'plain']]) {
        const { code, text } = await root.run(...args)
        expect([args.join(' '), code], text).toEqual([args.join(' '), 0])
      }
    })
  })

  describe('the downloaded file', () => {
    it('passes rpmkeys only with the key of the repository, and fails after any flipped byte', async () => {
      await publish({ name: 'checked', files: [{ path: '/usr/share/checked/readme', content: 'x'.repeat(3000) }] })
      const base = `${service().rpm}/repos/almalinux9/x86_64/`
      const root = await newRoot()
      const { text: location } = await root.run('-q', 'repoquery', '--location', 'checked')
      const url = location.split('\n').find((line) => line.startsWith(base)) as string
      const file = Buffer.from(await (await fetch(url)).arrayBuffer())
      const work = await mkdtemp(join(tmpdir(), 'rpmkeys-'))
      try {
        const path = join(work, 'checked.rpm')
        const rpmkeys = (database: string, ...args: string[]) =>
          runAsRoot(['rpmkeys', '--dbpath', join(work, database), ...args], work)
        const check = async (bytes: Buffer, database = 'ours') => {
          await writeFile(path, bytes)
          return rpmkeys(database, '--checksig', path)
        }
        await writeFile(join(work, 'key.asc'), await (await fetch(`${service().rpm}/repos/gpg.key`)).text())
        expect(await rpmkeys('ours', '--import', join(work, 'key.asc'))).toMatchObject({ code: 0 })
        expect(await check(file)).toMatchObject({ code: 0, text: expect.stringContaining('digests signatures OK') })
        const without = await check(file, 'empty')
        expect(without.code, without.text).not.toBe(0)
        // After the lead, which current rpm versions ignore.
        for (let at = 200; at < file.length; at += Math.floor(file.length / 12)) {
          const { code, text } = await check(flipByte(file, at))
          expect([at, code === 0], text).toEqual([at, false])
        }
      } finally {
        await rm(work, { recursive: true, force: true })
      }
    })
  })
})
