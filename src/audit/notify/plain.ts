// Text of packages and people as one line of visible characters without effects. Pure.

// Control characters, line separators, and marks that change the direction of text.

const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]+/g

/** @param most longest result, in UTF-16 units */
export function plain(text: string, most: number): string {
  const line = text.replace(UNPRINTABLE, ' ').trim()
  // By code point, so that no surrogate pair is split.
  return line.length <= most ? line : `${[...line].slice(0, most - 1).join('')}…`
}
