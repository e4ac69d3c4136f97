// Runs zypper against the service.
import { describe, expect, it } from 'vitest'
import { rpmClientSuite } from './rpm-client-suite.ts'
import { zypper } from './zypper-root.ts'

rpmClientSuite(zypper, ['opensuse-leap-15.6', 'rocky8', 'opensuse-tumbleweed'], ({ service, newRoot, publish }) => {
  describe('setting up zypper', () => {
    it('imports the key from the repository when only the address is added', async () => {
      await publish({ name: 'by-address' })
      const root = await newRoot()
      expect((await root.run('removerepo', 'gatehouse')).code).toBe(0)
      const added = await root.run('addrepo', '-f', `${service().rpm}/repos/opensuse-leap-15.6/x86_64/`, 'c')
      expect(added.code, added.text).toBe(0)
      const refreshed = await root.run('refresh')
      expect(refreshed.code, refreshed.text).toBe(0)
      const installed = await root.install('by-address')
      expect(installed.code, installed.text).toBe(0)
      expect(await root.installed()).toEqual({ 'by-address': '1.0-1' })
    })
  })

  describe('zypper queries', () => {
    it('finds packages by name, capability and file', async () => {
      await publish({
        name: 'asked',
        provides: ['asked(api) = 2'],
        requires: ['asked-library'],
        files: [{ path: '/usr/bin/asked', content: '#!', mode: 0o100755 }],
      })
      const root = await newRoot()
      const search = async (...args: string[]) => {
        const { code, text } = await root.run('--xmlout', 'search', ...args)
        expect([0, 104], text).toContain(code)
        return [...text.matchAll(/<solvable [^>]*name="([^"]+)"/g)].map(([, name]) => name)
      }
      expect((await root.refresh()).code).toBe(0)
      expect(await search('ask*')).toEqual(['asked'])
      expect(await search('--provides', '--match-exact', 'asked(api)')).toEqual(['asked'])
      expect(await search('--requires', '--match-exact', 'asked-library')).toEqual(['asked'])
      expect(await search('--file-list', '/usr/bin/asked')).toEqual(['asked'])
      expect(await search('never-heard-of')).toEqual([])
    })
  })
})
