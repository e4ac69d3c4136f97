// The tags of a wheel, which say where it can be installed: from the file WHEEL into one compressed set (PEP 425). Pure.
import { invalid } from '../archive/limits.ts'
import { quote } from '../bounds.ts'
import type { Fields } from './core-metadata.ts'
import type { PypiFile } from './record.ts'

const MOST_TAGS = 512
/** File names end at 255 bytes, and names and versions need room. */
const LONGEST_SET = 160

/** @throws Problem('invalid_package') when the tags are missing, or no file name has exactly these */
export function tagsOf(fields: Fields): PypiFile & { kind: 'wheel' } {
  const version = fields.get('wheel-version')?.[0] ?? ''
  if (!/^1\.\d+$/.test(version)) throw invalid(`the file WHEEL has the Wheel-Version ${quote(version)}; expected 1.x`)
  const tags = [...new Set(fields.get('tag') ?? [])]
  if (tags.length === 0) throw invalid('the file WHEEL has no Tag')
  if (tags.length > MOST_TAGS) throw invalid(`the file WHEEL has more than ${MOST_TAGS} tags`)
  const sets = [new Set<string>(), new Set<string>(), new Set<string>()] as const
  for (const tag of tags) {
    const parts = tag.split('-')
    if (parts.length !== 3 || !parts.every((part) => /^\w+$/.test(part)))
      throw invalid(`the file WHEEL has the Tag ${quote(tag)}; expected one like py3-none-any`)
    parts.forEach((part, at) => sets[at]!.add(part))
  }
  if (sets[0].size * sets[1].size * sets[2].size !== tags.length)
    throw invalid('the file WHEEL has tags that no file name has together')
  const [python, abi, platform] = sets.map((set) => [...set].join('.')) as [string, string, string]
  if (python.length + abi.length + platform.length > LONGEST_SET)
    throw invalid('the tags of the wheel are too long for a file name')
  const build = fields.get('build')?.[0] || null
  if (build !== null && !/^\d\w*$/.test(build)) throw invalid(`the file WHEEL has the Build ${quote(build)}`)
  return { kind: 'wheel', build, python, abi, platform }
}
