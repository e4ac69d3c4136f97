// Text as XML 1.0 takes it (https://www.w3.org/TR/xml/#charsets). Pure.

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  '\r': '&#13;',
  '\n': '&#10;',
  '\t': '&#9;',
}

// Not even as a character reference may these stand in a document.

const FORBIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|\p{Surrogate}/u
const EVERY_FORBIDDEN = new RegExp(FORBIDDEN, 'gu')

/** Whether a document can hold the text as it is. */
export function isXmlText(text: string): boolean {
  return !FORBIDDEN.test(text)
}

/** Content of an element: what no document may hold is left out. */
export function escapeXml(text: string): string {
  return text.replace(EVERY_FORBIDDEN, '').replace(/[&<>\r]/g, (character) => ESCAPES[character]!)
}

/** Value of an attribute, to stand in double quotes. */
export function escapeAttribute(text: string): string {
  return text.replace(EVERY_FORBIDDEN, '').replace(/[&<>"\r\n\t]/g, (character) => ESCAPES[character]!)
}
