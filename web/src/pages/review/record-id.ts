// Which record of the queue is open. The URL names it, because positions change while people decide.
export interface RecordId {
  name: string
  version: string
  arch: string
  distribution: string
}

export const idOf = ({ name, version, arch, distribution }: RecordId) => [name, version, arch, distribution].join(' ')

/** None of the four parts has a space in any format. */
export function parseId(text: string | undefined): RecordId | null {
  const [name, version, arch, distribution, more] = (text ?? '').split(' ')
  return name && version && arch && distribution && more === undefined ? { name, version, arch, distribution } : null
}
