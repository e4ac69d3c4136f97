// The examples of docs/cli.md and of the client's README, run as CI systems and readers run them.
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { buildRpm } from '../samples/rpm.ts'
import { NODE } from './gatehouse.ts'
import { deb, type Stage } from './stage.ts'

const ROOT = join(import.meta.dirname, '..', '..')

export function exampleCases(stage: Stage): void {
  describe('examples', () => {
    const page = async (path: string) => readFile(join(ROOT, path), 'utf8')
    const only = (text: string, pattern: RegExp) => {
      const found = [...text.matchAll(new RegExp(pattern, 'gs'))].map((match) => match[1] ?? '')
      expect(found).toHaveLength(1)
      return found[0] ?? ''
    }

    test('GitHub Actions: the file of the service uploads, and the verdict is in a file', async () => {
      const home = await stage.home('uploader')
      const block = only(await page('docs/cli.md'), /# GitHub Actions\n- run: \|\n((?: {4}[^\n]+\n)+)/)
      await deb(home, 'from-github')
      // The runner's shell for `run` when none is named.
      await writeFile(join(home.path, 'step.sh'), block.replaceAll(/^ {4}/gm, ''))
      const ran = await home.program(['bash', '-e', 'step.sh'])
      expect([ran.code, ran.err]).toEqual([0, expect.stringContaining('published')])
      const verdict = JSON.parse(await readFile(join(home.path, 'verdict.json'), 'utf8'))
      expect(verdict).toMatchObject({
        exit: 0,
        results: [{ outcome: 'published', answer: { package: 'from-github' } }],
      })
    })

    test('the npm package of the command has what it needs', async () => {
      const home = await stage.home('uploader')
      // As published, but from a file, so no registry is contacted.
      const packed = await home.program(['npm', 'pack', '--silent', '--pack-destination', home.path], {
        cwd: join(ROOT, 'cli'),
      })
      expect([packed.code, packed.err]).toEqual([0, ''])
      const file = `./${packed.out.trim().split('\n').at(-1)}`
      const installed = await home.program(['npm', 'install', '--silent', '--offline', file])
      expect([installed.code, installed.err]).toEqual([0, ''])
      const ran = await home.program(['node_modules/.bin/gatehouse', 'whoami'])
      expect([ran.code, ran.err, ran.out]).toEqual([0, '', expect.stringContaining('uploader')])
    })

    test('GitLab CI: the file of the service uploads', async () => {
      const home = await stage.home('uploader')
      const lines = JSON.parse(
        only(await page('docs/cli.md'), /# GitLab CI\npublish:\n {2}script: (\[[^\n]+\])\n/),
      ) as string[]
      await mkdir(join(home.path, 'out'))
      await writeFile(
        join(home.path, 'out', 'a.rpm'),
        await buildRpm({ name: 'from-gitlab', version: '1.0', release: '1', arch: 'x86_64' }),
      )
      const ran = await home.program(['bash', '-c', ['set -eo pipefail', ...lines].join('\n')])
      expect([ran.code, ran.out]).toEqual([0, expect.stringContaining('published\tout/a.rpm\trocky9')])
    })

    test('without Node: the curl line', async () => {
      const home = await stage.home('uploader')
      const line = only(await page('docs/cli.md'), /```sh not-run: [^\n]+\n(curl [^`]+)```/)
      await writeFile(join(home.path, 'hello.deb'), await readFile(join(home.path, await deb(home, 'hello'))))
      const ran = await home.program(['sh', '-ec', line])
      expect([ran.code, JSON.parse(ran.out).status]).toEqual([0, 'published'])
    })

    test("the example of the client's README", async () => {
      const home = await stage.home('uploader')
      await mkdir(join(home.path, 'node_modules'))
      await symlink(join(ROOT, 'client'), join(home.path, 'node_modules', 'gatehouse-client'))
      await writeFile(
        join(home.path, 'example.mjs'),
        only(await page('client/README.md'), /```js\n([^`]*(?:`[^`]+`[^`]*)*)```/),
      )
      const ran = await home.program([NODE, 'example.mjs'])
      expect([ran.code, ran.err]).toEqual([0, ''])
      expect(ran.out.split('\n')).toEqual(
        expect.arrayContaining([
          expect.stringMatching(/^signed in as token:/),
          'invalid_package',
          'hello 1.0-1',
          'event: snapshot',
        ]),
      )
    })
  })
}
