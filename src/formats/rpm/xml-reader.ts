// Reads XML 1.0 piece by piece: elements, attributes and text. No document type, and no entities but the five of XML itself.
import { refused } from '../catalog.ts'

export interface XmlHandler {
  open(name: string, attributes: ReadonlyMap<string, string>): void
  /** a text may come in several pieces */
  text(text: string): void
  close(name: string): void
}

export interface XmlReader {
  /** @throws Problem('upstream_error') for what is not well-formed, or uses what is not read */
  write(text: string): void
  /** @throws Problem('upstream_error') when the document is not complete */
  end(): void
}

/** Of one tag, comment or instruction. A boolean dependency of rpm is one attribute of up to 16 KiB. */
const LONGEST_TOKEN = 256 * 1024
const DEEPEST = 16
const LONGEST_REFERENCE = 12
// https://www.w3.org/TR/xml/#charsets; the decoder lets no lone surrogates pass.
const FORBIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/
const NAME = /^[A-Za-z_:][A-Za-z0-9_:.-]*$/
const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" }

/** @param document names it in sentences */
export function createXmlReader(document: string, handler: XmlHandler): XmlReader {
  const open: string[] = []
  let rest = ''
  let isBegun = false
  const fail = (what: string) => refused('malformed', `${document} ${what}`)

  /** @returns the offset behind the token that begins at `at`; -1 when it is not complete */
  function token(at: number): number {
    if (rest.startsWith('<!--', at)) return behind('-->', at + 4)
    if (rest.startsWith('<![CDATA[', at)) return cdata(at)
    if ('<![CDATA['.startsWith(rest.slice(at)) || '<!--'.startsWith(rest.slice(at))) return -1
    if (rest[at + 1] === '!') throw fail('has a document type, which is not accepted')
    if (rest[at + 1] === '?') return instruction(at)
    const end = tagEnd(rest, at)
    if (end === -1) return -1
    tag(rest.slice(at + 1, end))
    return end + 1
  }

  function behind(mark: string, from: number): number {
    const end = rest.indexOf(mark, from)
    return end === -1 ? -1 : end + mark.length
  }

  function cdata(at: number): number {
    const end = behind(']]>', at + 9)
    if (end === -1) return -1
    if (open.length === 0) throw fail('has text outside its root element')
    handler.text(rest.slice(at + 9, end - 3))
    return end
  }

  function instruction(at: number): number {
    const end = behind('?>', at)
    if (end === -1) return -1
    const encoding = /^<\?xml\s[^>]*encoding\s*=\s*["']([^"']*)["']/.exec(rest.slice(at, end))?.[1]
    if (encoding !== undefined && !/^(?:utf-8|us-ascii)$/i.test(encoding)) throw fail('is not encoded in UTF-8')
    return end
  }

  function tag(inside: string): void {
    if (inside.startsWith('/')) {
      const name = inside.slice(1).trimEnd()
      if (open.pop() !== name) throw fail(`closes the element ${name.slice(0, 80)}, which is not open`)
      handler.close(name)
      return
    }
    const isEmpty = inside.endsWith('/')
    const name = /^[^\s/]*/.exec(inside)![0]
    if (!NAME.test(name)) throw fail('has a tag that cannot be read')
    if (open.length === 0 && isBegun) throw fail('has a second root element')
    if (open.length === DEEPEST) throw fail(`has elements more than ${DEEPEST} deep`)
    isBegun = true
    handler.open(name, attributes(inside.slice(name.length, isEmpty ? -1 : undefined)))
    if (isEmpty) handler.close(name)
    else open.push(name)
  }

  function attributes(text: string): Map<string, string> {
    const found = new Map<string, string>()
    const pattern = /\s+([A-Za-z_:][A-Za-z0-9_:.-]*)\s*=\s*(?:"([^"<]*)"|'([^'<]*)')/y
    let at = 0
    for (let match = pattern.exec(text); match; match = pattern.exec(text)) {
      const name = match[1]!
      if (found.has(name)) throw fail(`has an element with two attributes ${name.slice(0, 80)}`)
      found.set(name, decode(match[2] ?? match[3] ?? ''))
      at = pattern.lastIndex
    }
    if (text.slice(at).trim() !== '') throw fail('has a tag that cannot be read')
    return found
  }

  /**
   * Text from `at` up to the next tag.
   * @returns the offset behind it: before a reference at the end of the piece that is not complete
   */
  function text(at: number, next: number): number {
    let end = next === -1 ? rest.length : next
    const ampersand = next === -1 ? rest.lastIndexOf('&') : -1
    if (ampersand >= at && end - ampersand < LONGEST_REFERENCE && !rest.includes(';', ampersand)) end = ampersand
    const found = rest.slice(at, end)
    if (open.length > 0) {
      if (found !== '') handler.text(decode(found))
    } else if (found.replace(/^\ufeff/, '').trim() !== '') throw fail('has text outside its root element')
    return end
  }

  function decode(found: string): string {
    if (!found.includes('&')) return found
    return found.replace(/&([^;&]{0,80});?/g, (whole, reference: string) => {
      if (!whole.endsWith(';')) throw fail('has an ampersand that begins no reference')
      const [, hex, decimal] = /^#(?:x([0-9A-Fa-f]{1,6})|([0-9]{1,7}))$/.exec(reference) ?? []
      const code = hex === undefined ? Number(decimal) : parseInt(hex, 16)
      const character = Number.isNaN(code)
        ? ENTITIES[reference]
        : code <= 0x10ffff
          ? String.fromCodePoint(code)
          : undefined
      const isAllowed = character !== undefined && !FORBIDDEN.test(character) && !/^\p{Surrogate}$/u.test(character)
      if (!isAllowed) throw fail(`refers to the entity ${reference.slice(0, 80)}, which is not accepted`)
      return character
    })
  }

  return {
    write(piece) {
      if (FORBIDDEN.test(piece)) throw fail('has a control character')
      rest += piece
      let at = 0
      for (let end = 0; at < rest.length; at = end) {
        end = rest[at] === '<' ? token(at) : text(at, rest.indexOf('<', at))
        if (end === -1 || end === at) break
      }
      rest = rest.slice(at)
      if (rest.length > LONGEST_TOKEN) throw fail(`has a tag of more than ${LONGEST_TOKEN} characters`)
    },
    end() {
      if (rest.trim() !== '' || open.length > 0 || !isBegun) throw fail('is not complete')
    },
  }
}

/** Offset of the `>` that ends a tag: one in quotes does not. */
function tagEnd(text: string, at: number): number {
  const pattern = /[>"']/g
  pattern.lastIndex = at
  for (let match = pattern.exec(text); match; match = pattern.exec(text)) {
    if (match[0] === '>') return match.index
    const close = text.indexOf(match[0], match.index + 1)
    if (close === -1) return -1
    pattern.lastIndex = close + 1
  }
  return -1
}
