// The control file of a binary package as text: fields in order (Debian Policy 5.1). The meaning of the fields is read elsewhere.
import { invalid } from '../archive/limits.ts'
import { checkRelationsText, checkText } from '../bounds.ts'

/**
 * Name as written, and value: lines joined by line feeds, without blanks at its beginning and end. Blanks at the end of an
 * inner line stay: `Description-md5`, by which apt finds translations, covers them.
 */
export type ControlField = [name: string, value: string]

const MOST_FIELDS = 1000
/** A megabyte of empty lines holds the event loop for 80 ms; the longest control files have some hundred lines. */
const MOST_LINES = 20_000
const RELATION_FIELDS = new Set([
  'depends',
  'pre-depends',
  'recommends',
  'suggests',
  'enhances',
  'breaks',
  'conflicts',
  'replaces',
  'provides',
])

/**
 * One stanza. https://www.debian.org/doc/debian-policy/ch-controlfields.html#syntax-of-control-files
 * @throws Problem('invalid_package') for broken lines, a second stanza and a field given twice
 */
export function parseControl(text: string): ControlField[] {
  if (text.includes('\0')) throw invalid('the control file has a NUL byte')
  let count = 0
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1))
    if (++count > MOST_LINES) throw invalid(`the control file has more than ${MOST_LINES} lines`)
  const lines = text.split('\n').map((line) => (line.endsWith('\r') ? line.slice(0, -1) : line))
  const fields: { name: string; lines: string[] }[] = []
  const seen = new Set<string>()
  let over = false
  for (const line of lines) {
    if (isBlank(line)) {
      // An indented blank line ends the stanza for some readers but not for others.
      if (line !== '' && fields.length > 0) throw invalid('the control file has a line of nothing but white space')
      over = fields.length > 0
      continue
    }
    if (over) throw invalid('the control file has more than one paragraph')
    if (line.startsWith(' ') || line.startsWith('\t')) {
      const field = fields.at(-1)
      if (!field) throw invalid('the control file begins with a continuation line')
      field.lines.push(line)
      continue
    }
    const [name, value] = splitField(line)
    if (seen.has(name.toLowerCase())) throw invalid(`the control file has the field ${name} twice`)
    if (fields.length === MOST_FIELDS) throw invalid('the control file has too many fields')
    seen.add(name.toLowerCase())
    fields.push({ name, lines: [value] })
  }
  return fields.map(({ name, lines: [first = '', ...further] }) => {
    const value = [isBlank(first) ? '' : first, ...further].join('\n')
    const isRelation = RELATION_FIELDS.has(name.toLowerCase())
    ;(isRelation ? checkRelationsText : checkText)(`a field ${name}`, value)
    return [name, trimEnd(value)]
  })
}

/** UTF-8, as Policy requires; otherwise Latin-1, as in packages older than that rule. */
export function decodeControl(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return Buffer.from(bytes).toString('latin1')
  }
}

/** Field names ignore case. */
export function fieldOf(fields: readonly ControlField[], name: string): string | undefined {
  const wanted = name.toLowerCase()
  return fields.find(([key]) => key.length === wanted.length && key.toLowerCase() === wanted)?.[1]
}

function splitField(line: string): [string, string] {
  const colon = line.indexOf(':')
  // dpkg accepts blanks before the colon.
  const name = trimEnd(line.slice(0, Math.max(colon, 0)))
  // Printable ASCII except space and colon, not beginning with # or -.
  if (!/^[!-9;-~]{1,100}$/.test(name) || /^[#-]/.test(name))
    throw invalid('the control file has a line that is no field')
  return [name, trimStart(line.slice(colon + 1))]
}

const isBlank = (line: string): boolean => trimStart(line) === ''

// `String.trim` would also remove white space that is text according to Policy, and /\s+$/ takes quadratic time.
function trimStart(text: string): string {
  let start = 0
  while (start < text.length && isSpace(text.charCodeAt(start))) start++
  return text.slice(start)
}

function trimEnd(text: string): string {
  let end = text.length
  while (end > 0 && isSpace(text.charCodeAt(end - 1))) end--
  return text.slice(0, end)
}

const isSpace = (code: number): boolean => code === 0x20 || (code >= 0x09 && code <= 0x0d)
