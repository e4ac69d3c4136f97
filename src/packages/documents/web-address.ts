// Decides which texts of packages are valid web addresses. Pure.

export function isWebAddress(url: string | null): url is string {
  if (url === null || !/^https?:\/\/[A-Za-z0-9._~:/?#[\]@!$&'()*+,;=%-]+$/.test(url)) return false
  // RFC 3986 allows brackets in a host only, `#` once and `%` before two digits; `canParse` repairs what it can.
  return URL.canParse(url) && !/%(?![0-9A-Fa-f]{2})|#.*#|[/?#].*[[\]]/.test(url.slice('https://'.length))
}
