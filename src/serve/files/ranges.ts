// Byte ranges of RFC 9110 section 14: which part of a file of known size a `Range` field selects.

export type RangeAnswer =
  | { kind: 'whole' }
  | { kind: 'unsatisfiable' }
  /** both ends included, as in `Content-Range` */
  | { kind: 'part'; first: number; last: number }

const WHOLE: RangeAnswer = { kind: 'whole' }

/**
 * Reads a `Range` field for `size` bytes. A field that is malformed or in another unit is ignored. Of several
 * ranges, one is answered if only one can be satisfied; otherwise the whole file, which a server may always send.
 */
export function selectRange(field: string, size: number): RangeAnswer {
  const unit = /^bytes=(.*)$/i.exec(field.trim())
  if (!unit) return WHOLE
  let part: RangeAnswer | null = null
  let asked = 0
  for (const spec of (unit[1] ?? '').split(',')) {
    const text = spec.trim()
    if (text === '') continue
    asked++
    const answer = selectOne(text, size)
    if (answer.kind === 'whole') return WHOLE
    if (answer.kind === 'unsatisfiable') continue
    if (part) return WHOLE
    part = answer
  }
  if (asked === 0) return WHOLE
  return part ?? { kind: 'unsatisfiable' }
}

function selectOne(text: string, size: number): RangeAnswer {
  const suffix = /^-(\d+)$/.exec(text)
  if (suffix) {
    const length = Number(suffix[1])
    if (length === 0) return { kind: 'unsatisfiable' }
    // "The last bytes" of an empty file are satisfiable, but no Content-Range can express them.
    if (size === 0) return WHOLE
    return { kind: 'part', first: Math.max(0, size - length), last: size - 1 }
  }
  const ends = /^(\d+)-(\d*)$/.exec(text)
  if (!ends) return WHOLE
  const first = Number(ends[1])
  const last = ends[2] === '' ? Infinity : Number(ends[2])
  if (last < first) return WHOLE
  if (first >= size) return { kind: 'unsatisfiable' }
  return { kind: 'part', first, last: Math.min(last, size - 1) }
}
