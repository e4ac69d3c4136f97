// Daily work of people who look after a service: quarantine, decisions, accounts, settings, sources, tasks, and long lists.
import { beforeAll, describe, expect, test } from 'vitest'
import type { Home } from './gatehouse.ts'
import { deb, HELD, type Stage } from './stage.ts'

export function dailyCases(stage: Stage): void {
  describe('daily work', () => {
    let home: Home
    beforeAll(async () => {
      home = await stage.home('admin')
    })
    const json = async (...line: string[]) => JSON.parse((await home.run([...line, '--json'])).out)
    const good = async (...line: string[]) => {
      const { code, out, err } = await home.run(line)
      expect([line, code], err).toEqual([line, 0])
      return out
    }

    test('what is quarantined is away at once; of several, one that does not exist does not stop the others', async () => {
      for (const name of ['bad-a', 'bad-b']) await good('upload', await deb(home, name), '-d', 'noble')
      const line = ['quarantine', 'bad-a@1.0-1', 'nobody-has-this@1', '--reason', 'it turned out to be bad']
      expect((await home.run(line)).code).toBe(2)
      const ran = await home.run([...line, '-', '--yes'], { input: 'bad-b@1.0-1\n' })
      expect([ran.code, ran.out, ran.err]).toEqual([
        6,
        'bad-a 1.0-1: quarantined in noble\nbad-b 1.0-1: quarantined in noble\n',
        expect.stringContaining('[not_found]'),
      ])
      for (const name of ['bad-a', 'bad-b'])
        expect((await stage.service.call('GET', `/artifacts/${name}`)).body.versions[0]).toMatchObject({
          ...{ status: 'quarantined', served: false },
        })
      const asked = await home.onTerminal(['quarantine', 'bad-a'])
      expect([asked.code, asked.out]).toEqual([2, expect.stringContaining('bad-a@VERSION')])
    })

    test('many held versions are decided about at once; one that cannot be does not stop the others', async () => {
      for (const name of ['held-bulk-a', 'held-bulk-b'])
        await home.run(['upload', await deb(home, name), '-d', 'noble'])
      const reason = ['--reason', 'looked at both', '--expires', '7d']
      const line = ['review', 'bulk', 'approve', 'held-bulk-a@1.0-1', '-', ...reason]
      const input = 'held-bulk-b@1.0-1\n'
      const foretold = await home.run([...line, '--dry-run'], { input })
      expect([foretold.code, foretold.out]).toEqual([
        0,
        expect.stringMatching(/^(.*would be published, clients get it\n){2}$/),
      ])
      expect(await good('show', 'held-bulk-a')).toContain('pending_review')
      const ran = await home.run([...line, 'nobody-has-this@1'], { input })
      expect([ran.code, ran.err]).toEqual([6, expect.stringContaining('[not_found]')])
      for (const name of ['held-bulk-a', 'held-bulk-b']) expect(await good('show', name)).toContain('published')
      const rejecting = await home.run(['review', 'bulk', 'reject', 'held-bulk-a@1.0-1', ...reason])
      expect(rejecting.code).toBe(2)
      expect((await home.run(['review', 'bulk', 'approve', 'held-bulk-a', ...reason])).code).toBe(2)
    })

    test('findings that nobody accepted fail a pipeline, at the severity that it names', async () => {
      await home.run(['upload', await deb(home, 'held'), '-d', 'noble'])
      const about = ['vulns', '--cve', HELD, '-d', 'noble', '--quiet']
      for (const [severity, code] of [
        ['critical', 0],
        ['high', 3],
        ['medium', 3],
      ] as const)
        expect([severity, (await home.run([...about, '--fail-on', severity])).code]).toEqual([severity, code])
      // The only finding of the page may be an accepted one.
      expect((await home.run([...about, '--fail-on', 'high', '--limit', '1'])).code).toBe(3)
      expect((await home.run([...about, '--fail-on', 'high', '--severity', 'Low'])).code).toBe(2)
      expect((await home.run(['vulns', '--cve', 'CVE-1999-0001', '--fail-on', 'negligible'])).code).toBe(0)
    })

    test('a decision is listed, extended and withdrawn', async () => {
      await home.run(['upload', await deb(home, 'held-decision'), '-d', 'noble'])
      await good('review', 'approve', 'held-decision@1.0-1', '--reason', 'looked', '--expires', '7d')
      const about = ['decision', 'list', '--package', 'held-decision@1.0-1', '--active']
      const { decisions } = await json(...about)
      expect(decisions).toMatchObject([{ action: 'exception', cve_ids: [HELD], justification: 'looked' }])
      const id = String(decisions[0].id)
      expect(await good('decision', 'show', id)).toContain('reason: looked')
      await good('decision', 'extend', id, '--expires', '30d')
      const [extended] = (await json(...about)).decisions
      const days = (Date.parse(extended.expires_at) - Date.now()) / 86_400_000
      expect([days > 29, days < 31, extended.justification, extended.cve_ids]).toEqual([true, true, 'looked', [HELD]])
      expect(await good('decision', 'withdraw', String(extended.id), '--note', 'found a fix')).toContain('withdrawn')
      expect((await json(...about)).decisions).toEqual([])
      expect(await good('show', 'held-decision')).toContain('pending_review')
      expect((await home.run(['decision', 'show', '999999'])).code).toBe(6)
    })

    test('an account is made, changed, disabled and deleted; its password is in no argument', async () => {
      const password = 'Person-of-the-tests-2'
      stage.secrets.push(password)
      const made = await home.run(['user', 'create', 'ada', '--role', 'reader'], { input: `${password}\n` })
      expect([made.code, made.out]).toEqual([0, 'ada (reader): created\n'])
      expect((await home.run(['user', 'create', 'eve', '--role', 'reader'])).code).toBe(2)
      expect(await good('user', 'change', 'ada', '--role', 'maintainer')).toBe('ada (maintainer): changed\n')
      const signIn = async (word: string) =>
        (await stage.service.call('POST', '/auth/token', { username: 'ada', password: word }, { authorization: '' }))
          .status
      expect(await signIn(password)).toBe(200)
      await good('user', 'disable', 'ada')
      expect(await signIn(password)).not.toBe(200)
      await good('user', 'enable', 'ada')
      stage.secrets.push('Person-of-the-tests-3')
      const typed = await home.onTerminal(
        ['user', 'reset-password', 'ada'],
        [
          ['password: ', 'Person-of-the-tests-3'],
          ['the same again', 'Person-of-the-tests-3'],
        ],
      )
      expect([typed.code, await signIn('Person-of-the-tests-3')]).toEqual([0, 200])
      expect((await json('user', 'show', 'ada')).role).toBe('maintainer')
      expect((await home.run(['user', 'delete', 'ada'])).code).toBe(2)
      await good('user', 'delete', 'ada', '--yes')
      expect((await home.run(['user', 'show', 'ada'])).code).toBe(6)
    })

    test('settings and the policy are read and set by their keys', async () => {
      expect(await good('settings', 'set', 'email.smtp_host=mail.example.org', 'email.smtp_port=587')).toBe(
        'email.smtp_host\tmail.example.org\nemail.smtp_port\t587\n',
      )
      expect(await good('settings', 'get', 'email.smtp_port')).toBe('587\n')
      expect(await good('settings', 'get', 'email')).toContain('email.smtp_host\tmail.example.org\n')
      expect(await good('policy', 'set', 'sla_medium_days=45')).toBe('sla_medium_days\t45\n')
      expect((await json('policy', 'show')).sla_medium_days).toBe(45)
      for (const wrong of [
        ['settings', 'set', 'email.port=1'],
        ['settings', 'get', 'nothing'],
        ['policy', 'set', 'high=maybe'],
      ])
        expect([wrong, (await home.run(wrong)).code]).toEqual([wrong, 2])
    })

    test('a source is added, disabled and deleted; names are reserved', async () => {
      const added = await json(
        ...['source', 'add', 'vendor', '--type', 'apt', '--address', 'https://apt.example.org/debian'],
        ...['--suite', 'noble', '--component', 'main', '--arch', 'amd64', '--allow-unsigned', '-d', 'noble'],
      )
      const id = String(added.id)
      expect(added).toMatchObject({ name: 'vendor', components: ['main'], target: 'noble', enabled: true })
      await good('source', 'disable', id)
      expect(await good('source', 'list', '--fields', 'id,enabled')).toContain(`${id}\tfalse\n`)
      const reserved = await json('reserve', 'add', 'vendor-*', '--source', id)
      expect(await good('reserve', 'list')).toContain(`\tsource ${id}\t`)
      expect((await home.run(['reserve', 'delete', String(reserved.id)])).code).toBe(2)
      await good('reserve', 'delete', String(reserved.id), '--yes')
      await good('source', 'delete', id, '--yes')
      expect((await home.run(['source', 'delete', id, '--yes'])).code).toBe(6)
      expect((await home.run(['mirror', 'plan', id])).code).toBe(6)
      const other = await json(
        ...['source', 'add', 'mirrored', '--type', 'apt', '--address', 'https://mirror.example.org/debian'],
        ...['--suite', 'noble', '--component', 'main', '--allow-unsigned', '-d', 'noble'],
      )
      const source = String(other.id)
      expect((await home.run(['mirror', 'set', source, 'keep_latest=2'])).code).toBe(2)
      expect(await good('mirror', 'set', source, 'globs=["nginx*"]', 'keep_latest=2')).toContain('globs\t["nginx*"]\n')
      await good('mirror', 'set', source, 'exclude=["nginx-doc"]', 'enabled=false')
      expect((await json('mirror', 'set', source, 'with_dependencies=true')).selection).toMatchObject({
        ...{ globs: ['nginx*'], exclude: ['nginx-doc'], keep_latest: 2, with_dependencies: true },
      })
      expect((await home.run(['mirror', 'set', source, 'glob=x'])).code).toBe(2)
      await good('source', 'delete', source, '--yes')
      expect((await home.run(['group', 'delete', 'nothing', '--yes'])).code).toBe(6)
    })

    test('a distribution is checked: what cannot be installed, and why', async () => {
      const ran = await home.run(['dist', 'check', 'noble'])
      expect([ran.code, ran.out]).toEqual([1, expect.stringMatching(/^subject\t1\.0-1\tamd64\t.*not-here/m)])
      const last = await home.run(['dist', 'check', 'noble', '--last', '--json'])
      expect([last.code, JSON.parse(last.out)]).toEqual([1, expect.objectContaining({ codename: 'noble' })])
      const [row = ''] = (await good('task', 'list', '--kind', 'installability')).split('\n')
      const [id = ''] = row.split('\t')
      expect(await good('task', 'watch', id)).toMatch(/^task \d+, installability noble: done\n$/)
      expect(await good('task', 'show', id)).toContain(': done')
      expect((await home.run(['task', 'cancel', id])).code).toBe(1)
      expect((await home.run(['task', 'show', '999999'])).code).toBe(6)
    })

    test('--all has every entry of a long list, and a page says how many it leaves out', async () => {
      for (let i = 0; i < 210; i++)
        await stage.service.call('PATCH', '/settings', { backup: { retention_count: 1 + (i % 9) } })
      const page = await home.run(['audit', 'list', '--quiet'])
      const [, total = ''] = /100 of (\d+)|50 of (\d+)/.exec(page.err) ?? []
      expect([page.code, page.err]).toEqual([0, expect.stringContaining('--all prints every one')])
      const all = await home.run(['audit', 'list', '--all', '--fields', 'seq'])
      const seqs = all.out.trimEnd().split('\n').map(Number)
      expect(seqs.length).toBeGreaterThanOrEqual(Math.max(210, Number(total)))
      expect(new Set(seqs).size).toBe(seqs.length)
      const rows = (await home.run(['audit', 'list', '--all', '--json', '--action', 'SETTINGS_CHANGE'])).out
        .trimEnd()
        .split('\n')
      expect(rows.length).toBeGreaterThanOrEqual(210)
      for (const row of rows) expect(JSON.parse(row).action).toBe('SETTINGS_CHANGE')
      const pages = (await home.run(['api', 'GET', '/artifacts/audit/logs', '--paginate', '-f', 'per_page=50'])).out
      expect(
        pages
          .trimEnd()
          .split('\n')
          .flatMap((line) => JSON.parse(line).items).length,
      ).toBeGreaterThanOrEqual(seqs.length)
      expect((await home.run(['api', 'GET', '/auth/me', '--paginate'])).code).toBe(2)
    })

    test('doctor: what works, and what does not', async () => {
      const well = await home.run(['doctor'])
      expect([well.code, well.out.match(/^failed/gm)], well.out).toEqual([0, null])
      for (const what of ['connection', 'clock', 'sign-in', 'deb repository', 'rpm repository', 'apk repository'])
        expect(well.out).toMatch(new RegExp(`^ok\\t${what}\\t`, 'm'))
      const stranger = await stage.stranger()
      expect((await stranger.run(['doctor'])).code).toBe(2)
      const unknown = await home.run(['doctor', '--json'], { env: { GATEHOUSE_TOKEN: 'svc_wrongwrongwrong' } })
      expect([unknown.code, JSON.parse(unknown.out).checks.at(-1)]).toEqual([
        4,
        expect.objectContaining({ name: 'sign-in', result: 'failed' }),
      ])
    })
  })
}
