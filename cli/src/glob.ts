// File names with `*`, `?`, `[…]` and `**`, for systems and quotes that prevent the shell from expanding them.
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { usage } from './failure.ts'

const MAGIC = /[*?[]/

/** Files that the words name, each once, in order. @throws Failure when a word names no file */
export async function filesOf(words: readonly string[]): Promise<string[]> {
  const found = new Set<string>()
  for (const word of words) {
    const info = await stat(word).catch(() => null)
    if (info?.isDirectory()) throw usage(`${word} is a directory; name files, such as ${join(word, '*')}`)
    // It would be read twice: for its digest, and to be sent.
    if (info && !info.isFile()) throw usage(`${word} is no regular file; write it to one first`)
    const files = info ? [word] : MAGIC.test(word) ? await matching(word) : []
    if (files.length === 0) throw usage(`no file matches ${word}`)
    for (const file of files) found.add(file)
  }
  return [...found]
}

async function matching(pattern: string): Promise<string[]> {
  const isAbsolute = pattern.startsWith('/')
  const parts = pattern.split('/').filter((part) => part !== '' && part !== '.')
  const found = await below(isAbsolute ? '/' : '.', parts)
  return [...new Set(found)].sort()
}

/** Regular files below a directory that match the parts of a pattern. */
async function below(directory: string, [part, ...rest]: readonly string[]): Promise<string[]> {
  if (part === undefined) return []
  if (!MAGIC.test(part)) return at(joined(directory, part), rest)
  const entries = await readdir(directory, { withFileTypes: true }).catch(() => [])
  // Names that begin with a dot need one in the pattern, as in a shell.
  const visible = entries.filter(({ name }) => !name.startsWith('.') || part.startsWith('.'))
  if (part === '**') {
    const inside = visible
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => below(joined(directory, name), [part, ...rest]))
    return [...(await below(directory, rest)), ...(await Promise.all(inside)).flat()]
  }
  const matches = patternOf(part)
  const found = visible.filter(({ name }) => matches.test(name)).map(({ name }) => at(joined(directory, name), rest))
  return (await Promise.all(found)).flat()
}

/** The files that match the rest of a pattern at a path, which may not exist. */
async function at(path: string, rest: readonly string[]): Promise<string[]> {
  const info = await stat(path).catch(() => null)
  if (rest.length > 0) return info?.isDirectory() ? below(path, rest) : []
  return info?.isFile() ? [path] : []
}

const joined = (directory: string, name: string) => (directory === '.' ? name : join(directory, name))

/** One part of a path as a regular expression. */
export function patternOf(part: string): RegExp {
  const text = part.replace(
    /\[(!?)([^\]]+)\]|[*?]|[\\^$.|+(){}[\]]/g,
    (one, not: string | undefined, set: string | undefined) => {
      if (set !== undefined) return `[${not ? '^' : ''}${set.replace(/[\\^[\]]/g, '\\$&')}]`
      if (one === '*') return '[^/]*'
      return one === '?' ? '[^/]' : `\\${one}`
    },
  )
  return new RegExp(`^${text}$`, 's')
}
