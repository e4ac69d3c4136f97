// Tries the command blocks of docs/npm.md, one after the other in one directory.
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { startNpm } from '../../contract/npm.ts'
import type { Machine } from './clients.ts'

const PAGE = readFileSync(join(import.meta.dirname, '../../../docs/npm.md'), 'utf8')
/** The address in the page. */
const SHOWN = 'https://packages.example.com'

interface Stage {
  at: Awaited<ReturnType<typeof startNpm>>
  machine: Machine
  address(repo: string): string
}

/** Blocks of other languages than `sh` are files: their first line is a comment with the name. */
function scriptOf(api: string): string {
  const blocks = [...PAGE.matchAll(/```(\w+)[^\n]*\n([^]*?)```/g)]
  const parts = blocks.map(([, language, text = '']) => {
    if (language === 'sh') return text
    const [, file = ''] = /^# (\S+)/.exec(text) ?? []
    return `cat > ${file} <<'END_OF_FILE'\n${text}END_OF_FILE\n`
  })
  const script = parts.join('\n').replaceAll(SHOWN, api)
  return script.replaceAll(`//${new URL(SHOWN).host}`, `//${new URL(api).host}`)
}

export function documentCases(stage: () => Stage): void {
  test('the blocks of docs/npm.md work as they are written', async () => {
    const { at, machine } = stage()
    const api = `http://127.0.0.1:${at.gate.port}`
    const { directory, path } = await machine.shell()
    const environment = { PATH: path, HOME: `${directory}-home`, GATEHOUSE_TOKEN: at.gate.people.maintainer.token }
    const admin = { GATEHOUSE_ADMIN: at.gate.people.admin.token }
    const { error, text } = await new Promise<{ error: Error | null; text: string }>((resolve) => {
      const script = `set -eux\n${scriptOf(api)}`
      const options = { cwd: directory, env: { ...environment, ...admin } }
      execFile('bash', ['-c', script], options, (error, out, err) => resolve({ error, text: out + err }))
    })
    expect(error, text).toBe(null)
    expect(text).toContain('found 0 vulnerabilities')
  })
}
