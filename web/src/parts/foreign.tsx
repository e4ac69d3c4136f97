// Text that packages or people wrote. It does not turn the direction of the words around it, and characters that nobody sees, with
// which two different texts look the same, are shown by their number.
import type { ReactNode } from 'react'

/** Controls, formats (direction, joiners, soft hyphens, tags), separators, and letters without a shape. */
const UNSEEN = /\r(?!\n)|(?![\n\r\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0]/gu
const JOINERS = new Set(['\u200c', '\u200d'])
const ASCII_END = 0x80

/** @returns the same text when nothing in it is unseen */
export function shown(text: string): ReactNode {
  const parts: ReactNode[] = []
  let from = 0
  for (const { 0: unseen, index } of text.matchAll(UNSEEN)) {
    if (isJoining(text, unseen, index)) continue
    parts.push(
      text.slice(from, index),
      <span className="unseen" key={index}>
        {numberOf(unseen)}
      </span>,
    )
    from = index + unseen.length
  }
  return from === 0 ? text : [...parts, text.slice(from)]
}

/** Joiners belong to Persian and Indic words, and to emoji of several parts; between Latin letters they only deceive. */
function isJoining(text: string, unseen: string, index: number): boolean {
  const isForeign = (at: number) => text.charCodeAt(at) >= ASCII_END
  return JOINERS.has(unseen) && isForeign(index - 1) && isForeign(index + 1)
}

const numberOf = (character: string) =>
  `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`

export function Foreign({ children }: { children: string | null | undefined }) {
  return children ? <bdi>{shown(children)}</bdi> : null
}
