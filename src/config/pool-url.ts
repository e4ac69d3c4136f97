// The address of an object store: s3://bucket/prefix?endpoint=…&region=…
import type { Kind } from './kinds.ts'

export interface PoolUrl {
  bucket: string
  /** before every key, without slashes at its ends; may be empty */
  prefix: string
  /** null for Amazon's own */
  endpoint: string | null
  region: string
}

const DEFAULT_REGION = 'us-east-1'
/** https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html */
const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/
/** Characters of keys that every store and every signature handles alike. */
const PREFIX = /^[A-Za-z0-9._-]+(\/[A-Za-z0-9._-]+)*$/
const REGION = /^[a-z0-9-]{1,40}$/

export const poolUrl: Kind<PoolUrl> = {
  label: '`s3://<bucket>/<prefix>?endpoint=<address>&region=<region>`',
  parse(value) {
    const url = URL.canParse(value) ? new URL(value) : null
    if (url?.protocol !== 's3:' || !BUCKET.test(url.host)) throw new Error('must be s3://bucket/prefix')
    // Other variables hold the credentials.
    if (url.username || url.password || url.hash) throw new Error('must be s3://bucket/prefix without credentials')
    const prefix = url.pathname.replace(/^\/+|\/+$/g, '')
    if (prefix !== '' && !PREFIX.test(prefix))
      throw new Error('must have a prefix of letters, digits and . _ - between slashes')
    const unknown = [...url.searchParams.keys()].find((key) => key !== 'endpoint' && key !== 'region')
    if (unknown !== undefined) throw new Error('may have the parameters endpoint and region only')
    const endpoint = url.searchParams.get('endpoint')
    if (endpoint !== null && !isEndpoint(endpoint))
      throw new Error('must have an endpoint such as https://objects.example.org, without a path')
    const region = url.searchParams.get('region') ?? DEFAULT_REGION
    if (!REGION.test(region)) throw new Error('must have a region of lower-case letters, digits and -')
    return { bucket: url.host, prefix, endpoint, region }
  },
}

/** The address in the form of the variable, always written the same way. */
export function addressOf({ bucket, prefix, endpoint, region }: PoolUrl): string {
  const parameters = new URLSearchParams({ ...(endpoint === null ? {} : { endpoint }), region })
  return `s3://${[bucket, prefix].filter(Boolean).join('/')}?${parameters.toString()}`
}

function isEndpoint(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, pathname, search, hash, username } = new URL(text)
  return /^https?:$/.test(protocol) && pathname === '/' && !search && !hash && !username
}
