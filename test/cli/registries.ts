// Proxies of other registries by command: made, curated, asked, and kept away from names of ours.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startNpmRegistry, type NpmRegistry } from '../fakes/npm-registry.ts'
import type { Home } from './gatehouse.ts'
import { answerFits } from './openapi.ts'
import type { Stage } from './stage.ts'

const DAY_MS = 86_400_000
const CREDENTIAL = 'Bearer secret-of-the-upstream'

export function registryCases(stage: Stage): void {
  describe('a proxy of another registry', () => {
    let home: Home
    let upstream: NpmRegistry
    beforeAll(async () => {
      home = await stage.home('admin')
      upstream = await startNpmRegistry()
      stage.secrets.push(CREDENTIAL)
      const time = new Date(Date.now() - DAY_MS).toISOString()
      for (const name of ['young', '@acme/lib', 'aged']) await upstream.put(name, { '1.0.0': { time } })
    })
    afterAll(() => upstream.close())
    const run = async (line: string, input = '') => {
      const ran = await home.run(line.split(' '), { input })
      return { ...ran, said: [ran.code, ran.out] }
    }
    const listed = async (name: string) => {
      const headers = { authorization: `Bearer ${stage.service.token}` }
      const answer = await fetch(`${stage.service.api}/npm/world/${name}`, { headers })
      const { versions = {} } = (await answer.json()) as { versions?: object }
      return [answer.status, Object.keys(versions)]
    }
    const file = (name: string) =>
      fetch(`${stage.service.api}/npm/world/${name}/-/${name}-1.0.0.tgz`, {
        headers: { authorization: `Bearer ${stage.service.token}` },
      })

    test('is made with a credential from standard input, which nobody reads back', async () => {
      const made = await run(`repo create npm/world --upstream ${upstream.url} --with-authorization`, `${CREDENTIAL}\n`)
      expect(made.said).toEqual([0, `made npm/world: ${stage.service.api}/npm/world/\n`])
      const { out } = await run('repo show npm/world')
      expect(out).toContain(`npm/world: proxy, 0 packages,`)
      expect(out).toContain(`upstream ${upstream.url}, with a credential\n`)
      expect(out).toContain('\nmin_age_days=7\n')
      // A line of .npmrc that is pasted must stay a line.
      expect(out).toMatch(/^registry=\S+\/npm\/world\/$/m)
      expect(await listed('young')).toEqual([200, []])
      expect(upstream.credentials).toEqual([CREDENTIAL])
    })

    test('a version that it holds is listed, asked for, approved, and then given', async () => {
      expect((await file('young')).status).toBe(403)
      expect((await run('repo withheld npm/world')).out).toMatch(
        /^young\t1\.0\.0\tnot looked at\t.*younger than 7 days/,
      )
      expect((await run('repo request npm/world young@1.0.0')).said).toEqual([
        0,
        'young 1.0.0 is here: young-1.0.0.tgz\n',
      ])
      expect((await run('repo withheld npm/world')).out).toMatch(/^young\t1\.0\.0\tpending_review\t/)
      const approved = await home.run(['review', 'approve', 'young@1.0.0', '--reason', 'read it'])
      expect([approved.code, approved.err]).toEqual([0, ''])
      expect(await listed('young')).toEqual([200, ['1.0.0']])
      expect((await file('young')).status).toBe(200)
      expect((await run('repo request npm/world never-was@1.0.0')).code).toBe(6)
      expect((await run('repo request npm/world young')).code).toBe(2)
    })

    test('its rules are changed one by one, and a misspelt one is refused', async () => {
      expect((await run('repo set npm/world --rule min_age_days=0 --rule provenance=allow')).code).toBe(0)
      expect(await listed('aged')).toEqual([200, ['1.0.0']])
      expect((await run('repo show npm/world')).out).toContain('\nmin_age_days=0\n')
      const misspelt = await run('repo set npm/world --rule min_age=14')
      expect([misspelt.code, misspelt.err]).toEqual([2, expect.stringContaining('min_age_days')])
      await run('repo create npm/ours')
      expect((await run('repo set npm/ours --rule min_age_days=14')).code).toBe(2)
      await run('repo set npm/world --no-authorization')
      expect((await run('repo show npm/world')).out).toContain(`upstream ${upstream.url}\n`)
    })

    test('a claimed name is never asked for upstream, until the claim is given up', async () => {
      const added = await home.run(['repo', 'claims', 'npm/ours', '--add', '@acme/*', '--add', 'internal'])
      expect([added.code, added.out]).toEqual([0, expect.stringMatching(/^@acme\/\*\t.*\ninternal\t/)])
      expect((await listed('@acme%2flib'))[0]).toBe(404)
      expect(upstream.asked).not.toContain('@acme/lib')
      expect((await home.run(['repo', 'claims', 'npm/ours', '--remove', '@acme/*'])).code).toBe(2)
      const removed = await home.run(['repo', 'claims', 'npm/ours', '--remove', '@acme/*', '--yes'])
      expect([removed.code, removed.out.includes('@acme')]).toEqual([0, false])
      expect(await listed('@acme%2flib')).toEqual([200, ['1.0.0']])
      expect((await run('repo claims npm/world --add other')).code).not.toBe(0)
    })

    test.each([
      ['repo list', ''],
      ['repo show npm/world', '/{format}/{name}'],
      ['repo withheld npm/world', '/{format}/{name}/withheld'],
      ['repo claims npm/ours', '/{format}/{name}/claims'],
    ])('%s --json is the answer of the API', async (line, path) => {
      const { code, out } = await run(`${line} --json`)
      expect([code, answerFits('GET', `/api/v1/registries${path}`, JSON.parse(out))]).toEqual([0, []])
    })
  })
}
