// The order of Maven versions. Pure.
// https://maven.apache.org/pom.html#Version_Order_Specification (as ComparableVersion of Maven 3.8 reads it)

type Item = { kind: 'number'; value: bigint } | { kind: 'word'; value: string } | { kind: 'list'; items: Item[] }

const QUALIFIERS = ['alpha', 'beta', 'milestone', 'rc', 'snapshot', '', 'sp']
const RELEASE = QUALIFIERS.indexOf('')
const SAME: Readonly<Record<string, string>> = { ga: '', final: '', release: '', cr: 'rc' }
const SHORT: Readonly<Record<string, string>> = { a: 'alpha', b: 'beta', m: 'milestone' }

/** Real versions are far shorter; each hyphen of a hostile one would cost a stack frame. */
const LONGEST = 500

/** Total over any two strings; negative, zero, positive. */
export function compareMaven(a: string, b: string): number {
  return compareItems(parse(a.slice(0, LONGEST)), parse(b.slice(0, LONGEST)))
}

function parse(version: string): Item {
  const root: Item[] = []
  const lists = [root]
  let list = root
  const nest = () => {
    const inner: Item[] = []
    list.push({ kind: 'list', items: inner })
    list = inner
    lists.push(inner)
  }
  const add = (text: string, digitFollows = false) => list.push(item(text, digitFollows))
  for (const token of version.toLowerCase().matchAll(/([0-9]+)|([^0-9.-]+)|([.-])/g)) {
    const [text, digits, , separator] = token
    const before = version[token.index - 1]
    const after = version[token.index + text.length]
    if (separator) {
      // An empty token counts as zero.
      if (before === undefined || before === '.' || before === '-') list.push({ kind: 'number', value: 0n })
      if (separator === '-') nest()
    } else if (digits) {
      add(digits)
      if (after !== undefined && after !== '.' && after !== '-') nest()
    } else {
      const digitFollows = after !== undefined && /[0-9]/.test(after)
      // `1.0.x1` is `1.0-x1`: a dot before a word is a hyphen.
      if ((digitFollows || after === undefined) && list.length > 0) nest()
      add(text, digitFollows)
      if (digitFollows) nest()
    }
  }
  for (const inner of lists.reverse()) normalize(inner)
  return { kind: 'list', items: root }
}

function item(text: string, digitFollows: boolean): Item {
  if (/^[0-9]/.test(text)) return { kind: 'number', value: BigInt(text) }
  const long = digitFollows ? (SHORT[text] ?? text) : text
  return { kind: 'word', value: Object.hasOwn(SAME, long) ? SAME[long]! : long }
}

/** Drops trailing nulls: `1.0.0`, `1-ga` and `1` are one version. */
function normalize(items: Item[]): void {
  for (let i = items.length - 1; i >= 0; i--) {
    const last = items[i]!
    if (isNull(last)) items.splice(i, 1)
    else if (last.kind !== 'list') break
  }
}

function isNull(last: Item): boolean {
  if (last.kind === 'number') return last.value === 0n
  return last.kind === 'word' ? last.value === '' : last.items.length === 0
}

/** Known qualifiers in their order, all others after them by the alphabet. */
function rank(word: string): string {
  const known = QUALIFIERS.indexOf(word)
  return known === -1 ? `${QUALIFIERS.length}-${word}` : String(known)
}

const sign = <T>(a: T, b: T) => (a < b ? -1 : a > b ? 1 : 0)
const STRENGTH = { word: 0, list: 1, number: 2 }

function compareItems(a: Item, b: Item): number {
  if (a.kind === 'number' && b.kind === 'number') return sign(a.value, b.value)
  if (a.kind === 'word' && b.kind === 'word') return sign(rank(a.value), rank(b.value))
  // `1-sp` < `1-1` < `1.1`
  if (a.kind !== 'list' || b.kind !== 'list') return sign(STRENGTH[a.kind], STRENGTH[b.kind])
  for (let i = 0; i < Math.max(a.items.length, b.items.length); i++) {
    const [left, right] = [a.items[i], b.items[i]]
    const order =
      left === undefined
        ? -compareToNothing(right!)
        : right === undefined
          ? compareToNothing(left)
          : compareItems(left, right)
    if (order !== 0) return order
  }
  return 0
}

function compareToNothing(present: Item): number {
  if (present.kind === 'number') return present.value === 0n ? 0 : 1
  if (present.kind === 'word') return sign(rank(present.value), String(RELEASE))
  for (const inner of present.items) {
    const order = compareToNothing(inner)
    if (order !== 0) return order
  }
  return 0
}
