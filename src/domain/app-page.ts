// Addresses of pages of the console, as people and other servers reach them.

export type PagePath = `/${string}`

/** @param path below the setting `app_url` */
export function appPage(appUrl: string, path: PagePath): string {
  return `${appUrl.replace(/\/+$/, '')}${path}`
}

/** What a page is about; a field is null when nothing names it. */
export interface PageSubject {
  package: string | null
  version: string | null
  distribution: string | null
  arch: string | null
}

/** The page of a package, at this version. */
export function packagePath(name: string, { version, distribution, arch }: Omit<PageSubject, 'package'>): PagePath {
  return withQuery(`/packages/${escaped(name)}`, { version, distribution, arch })
}

/** The review, with this record open where it is known completely. */
export function reviewPath({ package: name, version, arch, distribution }: PageSubject): PagePath {
  return withQuery('/review', {
    item: name && version && arch && distribution ? [name, version, arch, distribution].join(' ') : null,
  })
}

function withQuery(path: PagePath, values: Record<string, string | null>): PagePath {
  const query = Object.entries(values).flatMap(([name, value]) => (value ? [`${name}=${escaped(asText(value))}`] : []))
  return query.length === 0 ? path : `${path}?${query.join('&')}`
}

/** The console reads values as JSON where it can: without quotation marks, version 1.10 would become the number 1.1. */
function asText(value: string): string {
  try {
    JSON.parse(value)
    return JSON.stringify(value)
  } catch {
    return value
  }
}

/** Unlike `encodeURIComponent`, never throws. */
const escaped = (text: string) => new URLSearchParams([['', text]]).toString().slice(1).replaceAll('+', '%20')
