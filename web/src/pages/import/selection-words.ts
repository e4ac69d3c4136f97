// Describes the selection of a mirror in words.
import type { Answered } from '../../api/api.ts'
import { count } from '../../parts/words.ts'

export type Selection = Answered<'GET /import/mirror/sources/{id}'>['selection']

/** @param names number of whole names that are selected; lists of mirrors omit the names themselves */
export function selectionInWords(selection: Omit<Selection, 'names'>, names: number): string {
  const { globs, exclude, sections, architectures, keep_latest: kept } = selection
  const { with_dependencies: needed, remove_withdrawn: removes } = selection
  const everything = globs.includes('*')
  const what = everything
    ? ['every package']
    : [...(names > 0 ? [count(names, 'name')] : []), ...(globs.length > 0 ? [`names like ${some(globs)}`] : [])]
  return [
    what.join(' and ') || 'every package',
    ...(sections.length > 0 ? [`of ${sections.length === 1 ? 'section' : 'sections'} ${some(sections)}`] : []),
    ...(exclude.length > 0 ? [`without ${some(exclude)}`] : []),
    ...(architectures.length > 0 ? [`for ${some(architectures)}`] : []),
    kept === null ? 'all versions' : kept === 1 ? 'the newest version' : `the newest ${kept} versions`,
    ...(needed ? ['with dependencies'] : []),
    ...(removes ? ['deletes here what the source withdraws'] : []),
  ].join(', ')
}

function some(texts: readonly string[], most = 4): string {
  return `${texts.slice(0, most).join(', ')}${texts.length > most ? ` and ${texts.length - most} more` : ''}`
}
