// Verifies and reads the description of a repository, in a reader. The process that asks fetches what the reader needs.
import { readFile } from 'node:fs/promises'
import type {
  RepositoryDescription,
  RepositoryIo,
  RepositoryRequest,
  SourceKey,
  StagedFile,
} from '../../formats/catalog.ts'
import { catalogOf } from './catalog-of.ts'
import { createOpenpgpVerifier } from './openpgp.ts'

/** A part that a description is made of, in the order in which its reader requests them. */
export type Need =
  | { kind: 'roots'; paths: readonly string[]; mostBytes: number }
  | { kind: 'small'; path: string; mostBytes: number; isOptional?: true }

/** `roots`, or the path of a small file */
export type Fetched = { roots: 'unchanged' | (StagedFile | null)[] } | { small: string | null }

export interface DescribeArgument {
  /** type of the source */
  type: string
  request: RepositoryRequest
  keys: readonly SourceKey[]
  mayBeUnsigned: boolean
  now: Date
  /** the parts requested so far */
  fetched: readonly Fetched[]
}

export type Described = { description: RepositoryDescription | 'unchanged' } | { need: Need }

/** Ends the reading when a part is missing. */
class Missing extends Error {
  readonly need: Need
  constructor(need: Need) {
    super('not fetched yet')
    this.need = need
  }
}

/**
 * Begins again each time something was fetched, so that a slow upstream does not occupy a reader that others need.
 * @throws Problem('upstream_error')
 */
export async function describe({ type, request, fetched, ...source }: DescribeArgument): Promise<Described> {
  try {
    return { description: await catalogOf(type).describe(request, createIo(source, fetched)) }
  } catch (error) {
    if (error instanceof Missing) return { need: error.need }
    throw error
  }
}

function createIo(
  { keys, mayBeUnsigned, now }: Pick<DescribeArgument, 'keys' | 'mayBeUnsigned' | 'now'>,
  fetched: readonly Fetched[],
): RepositoryIo {
  let next = 0
  const take = (need: Need): Fetched => {
    const found = fetched[next++]
    if (found === undefined) throw new Missing(need)
    return found
  }
  const small = async (need: Need & { kind: 'small' }) => {
    const { small: path } = take(need) as { small: string | null }
    return path === null ? null : readFile(path)
  }
  const signed = keys.length > 0
  const verifier = createOpenpgpVerifier(
    keys.map(({ text }) => text),
    now,
  )
  return {
    roots: async (paths, mostBytes) =>
      (take({ kind: 'roots', paths, mostBytes }) as { roots: 'unchanged' | (StagedFile | null)[] }).roots,
    small: (path, mostBytes) => small({ kind: 'small', path, mostBytes }),
    optional: (path, mostBytes) => small({ kind: 'small', path, mostBytes, isOptional: true }),
    signed,
    mayBeUnsigned,
    keys,
    async verifyCleartext(document, name) {
      return signed ? verifier.cleartext(document, name) : { text: withoutSignature(document), signedBy: [] }
    },
    verifyDetached: async (content, signature, name) => (signed ? verifier.detached(content, signature, name) : []),
  }
}

/** The text between the headers and the signature of an unverified clear-signed document (RFC 9580, section 7). */
function withoutSignature(document: Uint8Array): string {
  const text = Buffer.from(document).toString('utf8').replaceAll('\r\n', '\n')
  const begin = text.startsWith('-----BEGIN PGP SIGNED MESSAGE-----\n') ? text.indexOf('\n\n') + 2 : 0
  const end = text.indexOf('\n-----BEGIN PGP SIGNATURE-----\n')
  return text.slice(begin, end === -1 ? undefined : end + 1).replace(/^- /gm, '')
}
