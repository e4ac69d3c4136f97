// The files of the console's build. Their names contain a digest, so a browser requests each once. About 2 MB, all in memory.
import { readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { isMissing } from '../kernel/files.ts'

const TYPES: Record<string, string> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
}
const ENCODINGS = [
  { name: 'br', suffix: '.br' },
  { name: 'gzip', suffix: '.gz' },
] as const

export interface Asset {
  type: string
  bytes: Buffer
  /** compressed forms, the smallest first */
  encoded: { name: string; bytes: Buffer }[]
}

export interface Build {
  /** index.html */
  page: string
  /** by file name below `assets/` */
  assets: ReadonlyMap<string, Asset>
}

/** Reads a build of the console. @returns null when there is none */
export function readBuild(directory: string): Build | null {
  try {
    const page = readFileSync(join(directory, 'index.html'), 'utf8')
    const names = readdirSync(join(directory, 'assets'))
    const read = (name: string) => readFileSync(join(directory, 'assets', name))
    const assets = names
      .filter((name) => TYPES[extname(name)] !== undefined)
      .map((name): [string, Asset] => [
        name,
        {
          type: TYPES[extname(name)] as string,
          bytes: read(name),
          encoded: ENCODINGS.filter(({ suffix }) => names.includes(name + suffix)).map((encoding) => ({
            name: encoding.name,
            bytes: read(name + encoding.suffix),
          })),
        },
      ])
    return { page, assets: new Map(assets) }
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  }
}

/** The form of an asset for an `Accept-Encoding` field (RFC 9110, section 12.5.3). */
export function representation(
  asset: Asset,
  accepted: string | string[] | undefined,
): { bytes: Buffer; encoding: string | null } {
  const refused = /;\s*q=0(\.0*)?\s*$/
  const names = String(accepted ?? '')
    .split(',')
    .filter((part) => !refused.test(part))
    .map((part) => part.split(';')[0]?.trim().toLowerCase())
  const found = asset.encoded.find(({ name }) => names.includes(name))
  return found ? { bytes: found.bytes, encoding: found.name } : { bytes: asset.bytes, encoding: null }
}
