// Which records are selected for one decision: one by one, in ranges, or all of a page. Pure.

export interface Selection {
  ids: ReadonlySet<string>
  /** where a range begins: the last one that was selected or deselected alone */
  anchor: string | null
}

export const NOTHING: Selection = { ids: new Set(), anchor: null }

/** What one decision is about, at most; it is sent in parts. */
export const MOST_SELECTED = 2000

export function toggled({ ids }: Selection, id: string): Selection {
  const next = new Set(ids)
  if (!next.delete(id)) next.add(id)
  return { ids: next, anchor: id }
}

/** Adds everything from the anchor to this one, in the order of the list; without an anchor in the list only this one. */
export function extended({ ids, anchor }: Selection, to: string, list: readonly string[]): Selection {
  const end = list.indexOf(to)
  const begin = anchor === null ? -1 : list.indexOf(anchor)
  const range = begin === -1 ? [to] : list.slice(Math.min(begin, end), Math.max(begin, end) + 1)
  return { ids: new Set([...ids, ...range]), anchor: begin === -1 ? to : anchor }
}

/** All of the list, or none of it when all are selected already. */
export function allToggled({ ids }: Selection, list: readonly string[]): Selection {
  const isAll = list.every((id) => ids.has(id))
  const others = [...ids].filter((id) => !list.includes(id))
  return { ids: new Set(isAll ? others : [...others, ...list]), anchor: null }
}
