// The other commands: their JSON answers, and their effects.
import { createHash } from 'node:crypto'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Home } from './gatehouse.ts'
import { answerFits } from './openapi.ts'
import { deb, HELD, type Stage } from './stage.ts'

export function commandCases(stage: Stage): void {
  describe('commands', () => {
    let home: Home
    beforeAll(async () => {
      home = await stage.home('admin')
      await home.run(['upload', await deb(home, 'subject', { fields: { Depends: 'not-here (>= 2)' } }), '-d', 'noble'])
      await home.run(['upload', await deb(home, 'held'), '-d', 'noble'])
    })

    test.each([
      ['whoami', '/api/v1/auth/me'],
      ['status', '/health'],
      ['search subject', '/api/v1/artifacts'],
      ['show subject', '/api/v1/artifacts/{name}'],
      ['deps subject', '/api/v1/artifacts/{name}/dependencies'],
      ['review list', '/api/v1/security/review-queue'],
      ['review show held@1.0-1', '/api/v1/security/packages/{name}/{version}/decision'],
      ['dist list', '/api/v1/distributions'],
      ['setup noble', '/api/v1/distributions/{codename}/setup'],
      [`vulns --cve ${HELD}`, '/api/v1/security/vulnerabilities'],
      ['token list', '/api/v1/auth/api-tokens'],
      ['audit list --limit 5', '/api/v1/artifacts/audit/logs'],
      ['backup list', '/api/v1/backup'],
      ['logs --limit 5', '/api/v1/logs'],
      ['decision list', '/api/v1/security/decisions'],
      ['task list', '/api/v1/tasks'],
      ['user list', '/api/v1/auth/users'],
      ['settings get', '/api/v1/settings'],
      ['policy show', '/api/v1/security/policy'],
      ['source list', '/api/v1/import/sources'],
      ['mirror list', '/api/v1/import/mirror/sources'],
      ['reserve list', '/api/v1/import/reservations'],
      ['group list', '/api/v1/import/groups'],
    ])('%s --json is the answer of the API, and without it text', async (line, path) => {
      const words = line.split(' ')
      const [json, text] = await Promise.all([home.run([...words, '--json']), home.run(words)])
      expect([line, json.code, answerFits('GET', path, JSON.parse(json.out))]).toEqual([line, 0, []])
      expect([line, text.code, /^[{[]/.test(text.out)]).toEqual([line, 0, false])
    })

    test('a failure with --json is the error body of the API', async () => {
      const { code, out, err } = await home.run(['show', 'nobody-has-this', '--json'])
      expect([code, JSON.parse(out)]).toEqual([
        6,
        expect.objectContaining({ code: 'not_found', detail: expect.any(String) }),
      ])
      expect(err).toContain('[not_found]')
    })

    test('promote says first what it would do, then does it', async () => {
      const dry = await home.run(['promote', 'subject', '--from', 'noble', '--to', 'jammy', '--dry-run', '--json'])
      expect([dry.code, JSON.parse(dry.out).status]).toEqual([0, 'dry_run'])
      expect((await home.run(['promote', 'subject', '--from', 'noble', '--to', 'jammy'])).code).toBe(0)
      expect((await home.run(['search', 'subject'])).out).toContain('jammy, noble')
      expect((await home.run(['promote', 'held', '--from', 'noble', '--to', 'jammy'])).code).toBe(3)
      // Several packages in one call: those that can be promoted are, and the gravest failure is the exit code.
      const several = ['promote', 'subject@1.0-1', 'held', 'nobody-has-this', '--from', 'noble', '--to', 'jammy']
      const { code, out, err } = await home.run(several)
      expect(code).toBe(3)
      expect(out).toMatch(/subject\s+1\.0-1\s.*already_present/)
      expect(err).toMatch(/held: .*\[not_published\]/)
      expect(err).toMatch(/nobody-has-this: .*\[not_found\]/)
      expect((await home.run([...several, '--version-of', '1'])).code).toBe(2)
    })

    test('delete needs --yes where nobody can be asked, and asks on a terminal', async () => {
      const line = ['delete', 'subject', '1.0-1', '-d', 'jammy']
      const refused = await home.run(line)
      expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('--yes')])
      expect((await home.onTerminal(line, [['[y/N]', 'n']])).code).toBe(1)
      expect((await home.run(['show', 'subject', '-d', 'jammy'])).code).toBe(0)
      const asked = await home.onTerminal(line, [['[y/N]', 'y']])
      expect([asked.code, asked.out]).toEqual([0, expect.stringContaining('deleted subject 1.0-1 from jammy')])
      expect((await home.run(['show', 'subject', '-d', 'jammy'])).code).toBe(6)
    })

    test('a decision is tried first, and changes nothing', async () => {
      const dry = (action: string, ...more: string[]) =>
        home.run(['review', action, 'held', '1.0-1', '--reason', 'looked', '--dry-run', ...more])
      const approved = await dry('approve', '--cve', HELD)
      expect([approved.code, approved.out]).toEqual([
        0,
        'held 1.0-1 (amd64) in noble: would be published, clients get it\n',
      ])
      expect((await dry('reject')).out).toContain('would be rejected, no change for clients')
      const refused = await dry('approve', '--cve', 'CVE-2026-9999', '--json')
      expect([refused.code, JSON.parse(refused.out)]).toEqual([
        2,
        { code: 'validation_error', detail: expect.stringContaining('no finding CVE-2026-9999') },
      ])
      expect((await home.run(['show', 'held'])).out).toContain('pending_review')
    })

    test('a decision is about the file that was looked at', async () => {
      const digest =
        /^sha256 ([0-9a-f]{64})$/m.exec((await home.run(['review', 'show', 'held', '1.0-1'])).out)?.[1] ?? ''
      const approve = (sha256: string, ...more: string[]) =>
        home.run(['review', 'approve', 'held', '1.0-1', '--reason', 'looked', '--sha256', sha256, ...more])
      expect((await approve(digest, '--dry-run')).code).toBe(0)
      const other = '0'.repeat(64)
      for (const refused of [await approve(other), await approve(other, '--dry-run')])
        expect([refused.code, refused.err]).toEqual([3, expect.stringContaining('[bytes_changed]')])
      expect((await home.run(['show', 'held'])).out).toContain('pending_review')
    })

    test('a rescan and a bill of materials', async () => {
      expect((await home.run(['review', 'rescan', 'held', '1.0-1', '-d', 'noble'])).out).toContain('pending_review')
      const sbom = await home.run(['sbom', 'subject', '1.0-1', '--format', 'spdx', '-o', 'subject.json'])
      expect([sbom.code, sbom.out]).toEqual([0, ''])
      expect(JSON.parse(await readFile(join(home.path, 'subject.json'), 'utf8')).spdxVersion).toBe('SPDX-2.3')
    })

    test('an export of the audit log is verified, and one that was changed is not', async () => {
      expect((await home.run(['audit', 'export', '-o', 'audit.jsonl'])).code).toBe(0)
      const good = await home.run(['audit', 'verify', 'audit.jsonl'])
      expect([good.code, good.out]).toEqual([0, expect.stringContaining('every hash fits')])
      expect((await home.run(['audit', 'verify'])).code).toBe(0)
      const lines = (await readFile(join(home.path, 'audit.jsonl'), 'utf8')).trimEnd().split('\n')
      const altered = lines.map((line, i) =>
        i === 3 ? line.replace(/"detail":(null|"[^"]*")/, '"detail":"nothing"') : line,
      )
      const shortened = lines.filter((_, i) => i !== 3)
      for (const [changed, what] of [
        [altered, 'was altered'],
        [shortened, 'does not follow'],
      ] as const) {
        await writeFile(join(home.path, 'changed.jsonl'), `${changed.join('\n')}\n`)
        const ran = await home.run(['audit', 'verify', 'changed.jsonl'])
        expect([ran.code, ran.err]).toEqual([1, expect.stringContaining(what)])
      }
    })

    test('a backup is made, and a download continues where it ended and is verified', async () => {
      const [name = ''] = (await home.run(['backup', 'create'])).out.split('\t')
      expect((await home.run(['backup', 'download', name])).code).toBe(0)
      const bytes = await readFile(join(home.path, name))
      expect(((await stat(join(home.path, name))).mode & 0o777).toString(8)).toBe('600')
      await writeFile(join(home.path, 'again.tar.gz.partial'), bytes.subarray(0, 1000))
      const continued = await home.run(['backup', 'download', name, '-o', 'again.tar.gz'])
      expect([continued.code, continued.err]).toEqual([0, expect.stringContaining('continuing after 1.0 kB')])
      const digest = (data: Uint8Array) => createHash('sha256').update(data).digest('hex')
      expect(digest(await readFile(join(home.path, 'again.tar.gz')))).toBe(digest(bytes))
      await writeFile(join(home.path, 'wrong.tar.gz.partial'), 'damaged')
      expect((await home.run(['backup', 'download', name, '-o', 'wrong.tar.gz'])).code).toBe(1)
      await expect(stat(join(home.path, 'wrong.tar.gz'))).rejects.toThrow('ENOENT')
      expect((await home.run(['backup', 'delete', name])).code).toBe(2)
      expect((await home.run(['backup', 'delete', name, '--yes'])).out).toBe(`deleted ${name}\n`)
      expect((await home.run(['backup', 'delete', name, '--yes'])).code).toBe(6)
    })

    test('a token has the scopes that were named, is printed once, and ends', async () => {
      const made = await home.run(['token', 'create', 'narrow', '--expires', '90d', '--action', 'read', '-d', 'noble'])
      const token = made.out.trim()
      home.printed.splice(home.printed.indexOf(made.out), 1)
      stage.secrets.push(token)
      expect([made.code, token]).toEqual([0, expect.stringMatching(/^svc_\S+$/)])
      const me = await home.run(['whoami'], { env: { GATEHOUSE_TOKEN: token } })
      expect(me.out).toContain('only actions: read')
      const row = (await home.run(['token', 'list'])).out.split('\n').find((line) => line.includes('\tnarrow\t'))
      expect((await home.run(['token', 'revoke', row?.split('\t')[0] ?? ''])).code).toBe(0)
      expect((await home.run(['whoami'], { env: { GATEHOUSE_TOKEN: token } })).code).toBe(4)
    })

    test('logs -f shows new lines until it is interrupted', async () => {
      const { child, ended, seen } = home.start(['logs', '-f', '--limit', '1', '--text', 'followed-by-a-test'])
      await expect
        .poll(async () => {
          await stage.service.call('GET', '/artifacts/followed-by-a-test')
          return seen.out
        })
        .toContain('followed-by-a-test')
      child.kill('SIGINT')
      expect((await ended).code).toBe(130)
    })

    test('api calls any endpoint', async () => {
      expect(JSON.parse((await home.run(['api', 'GET', '/artifacts', '-f', 'search=subject'])).out).total).toBe(1)
      expect((await home.run(['api', 'GET', '/metrics'])).out).toContain('# HELP svc_')
      const patched = await home.run(['api', 'PATCH', '/settings', '--input', '-'], {
        input: '{"backup":{"retention_count":7}}',
      })
      expect(JSON.parse(patched.out).backup.retention_count).toBe(7)
      const asField = await home.run(['api', 'POST', '/auth/api-tokens', '-f', 'name=x', '-f', 'expires_days:=0'])
      expect([asField.code, asField.err]).toEqual([2, expect.stringContaining('validation_error')])
    })

    test('an import without a source that was read says so', async () => {
      expect((await home.run(['import', 'search', 'anything'])).code).toBe(1)
      const add = ['import', 'add', 'anything', '-d', 'noble']
      expect((await home.run(add)).code).toBe(2)
      expect((await home.run([...add, '--source', '1'])).code).toBe(1)
    })
  })
}
