// Completion in the real shells, the manual page in the real man, and a reader that stops early.
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { need } from '../need.ts'
import { COMMAND, NODE, type Home } from './gatehouse.ts'
import type { Stage } from './stage.ts'

export function shellCases(stage: Stage): void {
  describe('shells', () => {
    let home: Home
    beforeAll(async () => {
      need('zsh', 'fish', 'groff-base')
      home = await stage.stranger()
      for (const shell of ['bash', 'zsh', 'fish'])
        await writeFile(join(home.path, `completion.${shell}`), (await home.run(['completion', shell])).out)
      await writeFile(join(home.path, 'pack age.deb'), '')
    })
    /** The shell's completions at the end of a line. */
    const ASK: Record<string, (line: string) => string[]> = {
      bash: (line) => {
        const words = line.split(' ')
        const script = `source completion.bash; COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}; _gatehouse; printf '%s\\n' "\${COMPREPLY[@]}"`
        return ['bash', '--norc', '-c', script]
      },
      fish: (line) => ['fish', '--no-config', '-c', `source completion.fish; complete -C '${line}'`],
      // zsh completes only in its line editor, so it runs in a separate terminal.
      zsh: (line) => [
        'zsh',
        '-fc',
        `zmodload zsh/zpty
         zpty shell zsh -f -i
         zpty -w shell "PS1=; autoload -U compinit; compinit -u; source completion.zsh; setopt list_packed; zstyle ':completion:*' list-separator '#'; LISTMAX=1000; print READY-\\$((40+2))"
         zpty -r -m shell seen '*READY-42*'
         zpty -w -n shell ${JSON.stringify(line)}
         zpty -w -n shell $'\\t'
         sleep_until=$((SECONDS + 20))
         all=
         while (( SECONDS < sleep_until )); do
           if zpty -r -t shell piece; then all+="$piece"; [[ "$all" == *$WANTED* ]] && break; fi
         done
         print -r -- "$all"`,
      ],
    }
    const offered = async (shell: string, line: string, wanted: string) => {
      const { out, err } = await home.program(ASK[shell]!(line), { env: { WANTED: wanted } })
      return `${out}${err}`
    }

    test.each(['bash', 'fish'])(
      '%s completes commands, the words of a group, flags, values and files',
      async (shell) => {
        const cases: [string, string[], string[]][] = [
          ['gatehouse re', ['review'], ['upload', 'token']],
          ['gatehouse review ', ['approve', 'list', 'rescan'], ['upload']],
          ['gatehouse --quiet review approve --', ['--reason', '--expires', '--quiet'], ['--wait']],
          ['gatehouse upload --', ['--distribution', '--wait', '--parallel'], ['--reason']],
          ['gatehouse upload pack', ['pack age.deb'], []],
          ['gatehouse completion ', ['bash', 'zsh', 'fish'], []],
          ['gatehouse search --status ', ['pending_review'], []],
          ['gatehouse sbom hello 1.0 --format ', ['cyclonedx', 'spdx'], []],
        ]
        for (const [line, there, absent] of cases) {
          // fish writes the word, then a tab and its description.
          const words = (await offered(shell, line, ''))
            .split('\n')
            .map((one) => (one.split('\t')[0] ?? '').replaceAll('\\ ', ' '))
          expect([line, words]).toEqual([line, expect.arrayContaining(there)])
          for (const word of absent) expect([line, words]).not.toEqual([line, expect.arrayContaining([word])])
        }
      },
    )

    test('zsh loads the completion and runs it', async () => {
      const checked = await home.program(['zsh', '-n', 'completion.zsh'])
      expect([checked.code, checked.err]).toEqual([0, ''])
      expect(await offered('zsh', 'gatehouse review ', 'rescan')).toContain('rescan')
      expect(await offered('zsh', 'gatehouse upload --wa', 'wait')).toContain('wait')
    })

    test('the manual page has no fault and names every command', async () => {
      await writeFile(join(home.path, 'gatehouse.1'), (await home.run(['man'])).out)
      const { code, out, err } = await home.program(['groff', '-man', '-Tutf8', '-ww', '-z', 'gatehouse.1'])
      expect([code, out, err]).toEqual([0, '', ''])
      const read = await home.program(['groff', '-man', '-Tascii', 'gatehouse.1'])
      expect(read.out.replace(/.\u0008|\u001b\[\d*m/g, '')).toContain('review approve')
      expect(await readFile(join(COMMAND, '..', 'gatehouse.1'), 'utf8')).toContain('review approve')
    })

    test('a reader that has enough, such as head, is no failure', async () => {
      const { code, err } = await home.program([
        'bash',
        '-o',
        'pipefail',
        '-c',
        `'${NODE}' '${COMMAND}' man | head -n 1`,
      ])
      expect([code, err]).toEqual([0, ''])
    })
  })
}
