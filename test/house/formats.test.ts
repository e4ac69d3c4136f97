// A package format is known inside its own folder only: adding one edits that folder and one line of the registry.
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { formats } from '../../src/formats/index.ts'

const SRC = resolve(import.meta.dirname, '../../src')

/** Files that may name a format, with the reason. */
const ALLOWED: Record<string, string> = {
  'domain/sources.ts': 'data: the upstream repositories by format',
  'config/repo-format.ts': 'values of REPO_FORMAT, which happen to be spelled like ids',
  'config/variables.ts': 'values of REPO_FORMAT, which happen to be spelled like ids',
  'operations/downloads/client-type.ts': 'names of client programs, one of which is spelled like an id',
  'app/wiring/repository-listeners.ts': 'names of the repository listeners and their ports',
}

/** Rooms whose owners still move format knowledge into the plug-ins. */
const PENDING = /^(?:gate\/engines\/|app\/wiring\/engines\.ts)/

const ids = formats.map(({ id }) => id).join('|')
/** An id as a string literal, or as one of several keys of an object: `{ deb: 0, rpm: 0 }`. */
const NAMED = new RegExp(`['"\`](?:${ids})['"\`]|\\b(?:${ids}):[^}]*\\b(?:${ids}):`)

test('no file outside formats/ names a package format', () => {
  const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !/(\.test|fixture)\.ts$/.test(file))
    .filter((file) => !file.startsWith('formats/') && !PENDING.test(file))
  const naming = files.filter((file) => {
    // Comments may name formats as examples.
    const code = readFileSync(join(SRC, file), 'utf8').replace(/\/\*[^]*?\*\/|\/\/.*$/gm, '')
    return NAMED.test(code)
  })
  expect(naming.sort()).toEqual(Object.keys(ALLOWED).sort())
})
