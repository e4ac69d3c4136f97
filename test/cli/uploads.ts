// upload: exit codes, its output, and waiting for people.
import { createServer, type Server } from 'node:net'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { answerFits } from './openapi.ts'
import type { Home, Ran } from './gatehouse.ts'
import { deb, infected, type Stage } from './stage.ts'

export function uploadCases(stage: Stage): void {
  describe('upload', () => {
    let home: Home
    /** another token, because each token may upload 20 times a minute */
    let other: Home
    beforeAll(async () => {
      home = await stage.home('maintainer')
      other = await stage.home('maintainer')
    })
    const upload = (files: string[], ...flags: string[]) => home.run(['upload', ...files, '-d', 'noble', ...flags])
    const words = ({ out }: Ran) =>
      out
        .trimEnd()
        .split('\n')
        .map((line) => line.split('\t')[0])

    test('a package that is published, and the same bytes again, end with 0', async () => {
      const file = await deb(home, 'clean')
      const first = await upload([file])
      expect([first.code, first.out.split('\t').slice(0, 3)]).toEqual([0, ['published', file, 'noble']])
      expect(first.err).toContain(`${file} (noble): sending`)
      const again = await upload([file])
      expect([again.code, words(again)]).toEqual([0, ['already_there']])
      expect((await stage.service.call('GET', '/artifacts/clean')).body.versions).toHaveLength(1)
    })

    test('a package that is held ends with 5, also when it was there already, and with 0 when that is allowed', async () => {
      const file = await deb(home, 'held')
      for (const [flags, code] of [
        [[], 5],
        [[], 5],
        [['--allow-held'], 0],
        [['--wait=1s'], 5],
      ] as const) {
        const ran = await upload([file], ...flags)
        expect([flags, ran.code, words(ran)]).toEqual([flags, code, ['pending_review']])
      }
    })

    test('what is refused ends with 3: infected, other bytes under the name, no package, too large', async () => {
      const bad = await infected(home, 'bad')
      expect([(await upload([bad])).code, (await upload([bad])).code]).toEqual([3, 3])
      await upload([await deb(home, 'taken')])
      const conflict = await upload([await deb(home, 'taken', { files: { 'usr/share/taken/readme': 'other bytes' } })])
      expect([conflict.code, conflict.out]).toEqual([3, expect.stringContaining('duplicate_conflict')])
      await writeFile(join(home.path, 'dist/text.deb'), 'this is no package\n')
      expect((await upload(['dist/text.deb'])).code).toBe(3)
      await stage.service.call('PATCH', '/settings', { validation: { max_upload_size_mb: 1 } })
      // The answer arrives before the file was read, and the connection closes.
      await writeFile(join(home.path, 'dist/large.deb'), Buffer.alloc(40 * 1024 ** 2, 'x'))
      const large = await upload(['dist/large.deb'])
      await stage.service.call('PATCH', '/settings', { validation: { max_upload_size_mb: 500 } })
      expect([large.code, large.out]).toEqual([3, expect.stringContaining('file_too_large')])
    })

    test('wrong use ends with 2, before anything is sent', async () => {
      const file = await deb(home, 'never-sent')
      const cases: [string[], string][] = [
        [['upload', 'dist/none-*.deb', '-d', 'noble'], 'no file matches dist/none-*.deb'],
        [['upload', file, 'dist/missing.deb', '-d', 'noble'], 'no file matches dist/missing.deb'],
        [['upload', 'dist', '-d', 'noble'], 'dist is a directory'],
        [['upload', file], '--distribution'],
        [['upload', '-d', 'noble'], 'FILES'],
        [['upload', file, '-d', 'noble', '--wait=soon'], '--wait is a time'],
        [['upload', file, '-d', 'noble', '--parallel', '0'], '--parallel is a whole number from 1 to 16'],
        [['uplaod', file], 'Did you mean upload'],
      ]
      for (const [args, text] of cases) {
        const ran = await home.run(args)
        expect([args, ran.code, ran.err]).toEqual([args, 2, expect.stringContaining(text)])
        expect(ran.out).toBe('')
        const json = await home.run([...args, '--json'])
        expect([args, json.code, JSON.parse(json.out)]).toEqual([
          args,
          2,
          { code: 'usage', detail: expect.any(String) },
        ])
      }
      const unknown = await home.run(['upload', file, '-d', 'nobel'])
      expect([unknown.code, unknown.out]).toEqual([2, expect.stringContaining('noble')])
      expect((await stage.service.call('GET', '/artifacts/never-sent')).status).toBe(404)
    })

    test('without a credential, with a wrong one and without the right it ends with 4', async () => {
      const file = join(home.path, await deb(home, 'no-right'))
      const stranger = await stage.stranger({ GATEHOUSE_URL: stage.service.api })
      const reader = await stage.home('reader')
      expect((await stranger.run(['upload', file, '-d', 'noble'])).code).toBe(4)
      const wrong = await stranger.run(['upload', file, '-d', 'noble'], {
        env: { GATEHOUSE_TOKEN: 'svc_wrongwrongwrong' },
      })
      expect([wrong.code, wrong.err]).toEqual([4, expect.stringContaining('gatehouse login')])
      expect((await reader.run(['upload', file, '-d', 'noble'])).code).toBe(4)
    })

    test('of several files all are tried, and the gravest decides', async () => {
      const files = [await infected(home, 'bad-2'), await deb(home, 'held'), await deb(home, 'clean-2')]
      const ran = await upload([...files, '-d', 'noble'])
      expect([ran.code, words(ran).sort()]).toEqual([3, ['pending_review', 'published', 'quarantined']])
      expect((await upload([files[1]!, files[2]!])).code).toBe(5)
    })

    test('--json is one document whose answers are those of the API', async () => {
      const files = [await deb(home, 'as-json'), await deb(home, 'held')]
      const ran = await upload(['dist/as-json*.deb', files[1]!], '--json')
      const document = JSON.parse(ran.out)
      expect([ran.code, document.exit]).toEqual([5, 5])
      expect(document.results.map((one: any) => [one.file, one.distribution, one.outcome, one.exit])).toEqual([
        [files[0], 'noble', 'published', 0],
        [files[1], 'noble', 'pending_review', 5],
      ])
      expect(answerFits('POST', '/api/v1/upload', document.results[0].answer)).toEqual([])
      expect(document.results[1].answer).toMatchObject({ code: 'already_exists', existing_status: 'pending_review' })
    })

    test('an interruption ends with 130', async () => {
      const deaf: Server = createServer(() => undefined)
      const port = await new Promise<number>((resolve) =>
        deaf.listen(0, '127.0.0.1', () => resolve((deaf.address() as { port: number }).port)),
      )
      const connected = new Promise((resolve) => deaf.once('connection', resolve))
      const { child, ended } = other.start(['upload', await deb(other, 'stopped'), '-d', 'noble'], {
        env: { GATEHOUSE_URL: `http://127.0.0.1:${port}` },
      })
      await connected
      child.kill('SIGINT')
      expect((await ended).code).toBe(130)
      deaf.close()
    })

    test.each([
      ['held-wait', 'approve', 0, 'published'],
      ['held-reject', 'reject', 3, 'rejected'],
    ])('--wait: %s ends as people decide', async (name, decision, code, word) => {
      const { ended, seen } = other.start(['upload', await deb(other, name), '-d', 'noble', '--wait'])
      await expect.poll(async () => (await stage.service.call('GET', `/artifacts/${name}`)).status).toBe(200)
      const decided = await other.run([
        'review',
        decision,
        name,
        '1.0-1',
        '--reason',
        'looked at it',
        ...(decision === 'reject' ? ['--yes'] : []),
      ])
      expect([decided.code, decided.out]).toEqual([0, expect.stringContaining(word)])
      expect([(await ended).code, words(seen)]).toEqual([code, [word]])
    })

    test('on a terminal there is a bar and then the steps; NO_COLOR and --quiet are obeyed', async () => {
      const shown = await other.onTerminal(['upload', await deb(other, 'shown'), '-d', 'noble'])
      expect([shown.code, shown.out]).toEqual([0, expect.stringMatching(/\[#* *\] +\d+ %.*\u001b\[1A/s)])
      const error = await other.onTerminal(['show', 'nobody-has-this'])
      expect([error.code, error.out]).toEqual([6, expect.stringContaining('\u001b[31m')])
      const plain = await other.onTerminal(['show', 'nobody-has-this'], [], { env: { NO_COLOR: '1' } })
      expect(plain.out).not.toContain('\u001b[')
      const quiet = await other.run(['upload', await deb(other, 'quiet'), '-d', 'noble', '--quiet'])
      expect([quiet.code, quiet.err, words(quiet)]).toEqual([0, '', ['published']])
    })
  })
}
