// Text that XML 1.0 allows (https://www.w3.org/TR/xml/#charsets). Pure.

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  '\r': '&#13;',
  '\n': '&#10;',
  '\t': '&#9;',
}

// A document may not contain these, not even as character references.

const FORBIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|\p{Surrogate}/u
const EVERY_FORBIDDEN = new RegExp(FORBIDDEN, 'gu')

/** Whether a document can contain the text unchanged. */
export function isXmlText(text: string): boolean {
  return !FORBIDDEN.test(text)
}

/** Content of an element, without forbidden characters. */
export function escapeXml(text: string): string {
  return text.replace(EVERY_FORBIDDEN, '').replace(/[&<>\r]/g, (character) => ESCAPES[character]!)
}

/** Value of an attribute, for use in double quotes. */
export function escapeAttribute(text: string): string {
  return text.replace(EVERY_FORBIDDEN, '').replace(/[&<>"\r\n\t]/g, (character) => ESCAPES[character]!)
}
