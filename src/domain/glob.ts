// Patterns of names: `*` is any text, `?` one character.

/** Case-sensitive. Takes at most as many steps as the product of both lengths. */
export function matchesGlob(pattern: string, text: string): boolean {
  let at = 0
  let place = 0
  /** where the last `*` is, and the place in the text up to which it reaches */
  let star = -1
  let reached = 0
  while (place < text.length) {
    if (pattern[at] === '*') {
      star = at++
      reached = place
    } else if (at < pattern.length && (pattern[at] === '?' || pattern[at] === text[place])) {
      at++
      place++
    } else if (star !== -1) {
      at = star + 1
      place = ++reached
    } else return false
  }
  while (pattern[at] === '*') at++
  return at === pattern.length
}

export const isGlob = (pattern: string) => /[*?]/.test(pattern)
