// What a package client sends to sign in. Pure.
import { ANY_TOKEN, tokenDigest } from '../../kernel/token-digest.ts'

/** Longer than any name and token. */
const LONGEST = 1024

/**
 * The digests under which the token of an `Authorization` header may be known; none when the header has no token. With Basic the
 * token is the password and the name is free; clients that send one value only send it as the name.
 */
export function digestsOf(authorization: string): string[] {
  const [, scheme = '', value = ''] = /^(Basic|Bearer) +(\S+) *$/i.exec(authorization.slice(0, LONGEST)) ?? []
  const texts = scheme.toLowerCase() === 'basic' ? basicTexts(value) : [value]
  const token = texts.find((text) => ANY_TOKEN.test(text))
  return token === undefined ? [] : [tokenDigest(token, false), tokenDigest(token, true)]
}

/** Password and name of Basic; the only text where there is no colon. */
export function basicTexts(value: string): string[] {
  const text = Buffer.from(value, 'base64').toString('utf8')
  const colon = text.indexOf(':')
  return colon < 0 ? [text] : [text.slice(colon + 1), text.slice(0, colon)]
}
