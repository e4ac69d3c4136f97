// A real dnf against the running service.
import { describe, expect, it } from 'vitest'
import { dnf } from './dnf-root.ts'
import { rpmClientSuite } from './rpm-client-suite.ts'

rpmClientSuite(dnf, ['almalinux9', 'rocky9', 'fedora'], ({ newRoot, publish }) => {
  describe('what dnf asks of the index', () => {
    it('finds packages by what they provide, require, obsolete, contain, and say in their changelog', async () => {
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
        changelogs: [{ time: 1_700_000_000, author: 'Jürgen <j@example.org> - 1.0-1', text: '- mended <everything> & more' }],
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

    it('groups, modules and advisories that are not there are no error', async () => {
      await publish({ name: 'plain' })
      const root = await newRoot()
      for (const args of [['updateinfo', 'list'], ['module', 'list'], ['check-update'], ['search', 'plain']]) {
        const { code, text } = await root.run(...args)
        expect([args.join(' '), code], text).toEqual([args.join(' '), 0])
      }
    })
  })
})
