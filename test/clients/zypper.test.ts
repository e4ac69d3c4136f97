// A real zypper against the running service.
import { describe, expect, it } from 'vitest'
import { rpmClientSuite } from './rpm-client-suite.ts'
import { zypper } from './zypper-root.ts'

rpmClientSuite(zypper, ['opensuse-leap-15.6', 'rocky8', 'opensuse-tumbleweed'], ({ newRoot, publish }) => {
  describe('what zypper asks of the index', () => {
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
