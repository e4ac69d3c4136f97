// Which texts are web addresses that every reader takes: nobody checked what a package writes there. Pure.

export function isWebAddress(url: string | null): url is string {
  if (url === null || !/^https?:\/\/[A-Za-z0-9._~:/?#[\]@!$&'()*+,;=%-]+$/.test(url)) return false
  // A bracket stands in a host only, a `#` once, a `%` before two digits (RFC 3986); `canParse` mends what it can.
  return URL.canParse(url) && !/%(?![0-9A-Fa-f]{2})|#.*#|[/?#].*[[\]]/.test(url.slice('https://'.length))
}
