// Reads XML 1.0 piece by piece: elements, attributes and text. No document type, and only the five entities of XML itself.
// The bounds are checked here, because the parser has none.
import { SaxesParser } from 'saxes'
import { refused } from '../catalog.ts'

export interface XmlHandler {
  open(name: string, attributes: ReadonlyMap<string, string>): void
  /** a text may come in several pieces */
  text(text: string): void
  close(name: string): void
}

export interface XmlReader {
  /** @throws Problem('upstream_error') for text that is not well-formed or uses unsupported features */
  write(text: string): void
  /** @throws Problem('upstream_error') when the document is not complete */
  end(): void
}

/** Of one tag, text, comment or instruction: the parser buffers each. A boolean dependency is one attribute of up to 16 KiB. */
const LONGEST_TOKEN = 256 * 1024
const DEEPEST = 16

/** @param document names it in sentences */
export function createXmlReader(document: string, handler: XmlHandler): XmlReader {
  const parser = new SaxesParser({ xmlns: false, position: false, defaultXMLVersion: '1.0', forceXMLVersion: true })
  let depth = 0
  /** the end of the last token, and the characters read; the parser's position is valid only while it reads */
  let reached = 0
  let written = 0
  const fail = (what: string) => refused('malformed', `${document} ${what}`)

  const requireUtf8 = (encoding = 'UTF-8') => {
    if (!/^(?:utf-8|us-ascii)$/i.test(encoding)) throw fail('is not encoded in UTF-8')
  }
  // No more than six handlers: with eight, V8 turns the parser object into a dictionary, which takes four times as long.
  parser.on('error', ({ message }) => {
    throw fail(`cannot be read as XML: ${message.slice(0, 160)}`)
  })
  parser.on('doctype', () => {
    throw fail('has a document type, which is not accepted')
  })
  parser.on('opentag', ({ name, attributes }) => {
    reached = parser.position
    if (depth++ === 0) requireUtf8(parser.xmlDecl.encoding)
    if (depth > DEEPEST) throw fail(`has elements more than ${DEEPEST} deep`)
    const found = new Map<string, string>()
    for (const key in attributes) found.set(key, attributes[key]!)
    handler.open(name, found)
  })
  parser.on('closetag', ({ name }) => {
    reached = parser.position
    depth--
    handler.close(name)
  })
  const text = (found: string) => {
    reached = parser.position
    if (depth > 0) handler.text(found)
  }
  parser.on('text', text)
  parser.on('cdata', text)

  return {
    write(piece) {
      parser.write(piece)
      written += piece.length
      if (written - reached > LONGEST_TOKEN) throw fail(`has a token of more than ${LONGEST_TOKEN} characters`)
    },
    end() {
      parser.close()
    },
  }
}
