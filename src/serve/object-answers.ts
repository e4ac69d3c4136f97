// Answers requests for packages in an object store: streams their bytes, or redirects to them.
import { answerWithRedirect, answerWithStream, refuse, type Exchange, type RemoteFile } from './files/answers.ts'
import { validatorsOf } from './files/conditions.ts'
import { fileHeaders } from './files/file-headers.ts'
import { objectKey, type ObjectStore } from '../store/objects/object-store.ts'
import { kindOfFile } from './file-kinds.ts'
import type { PublishedObject } from './published-tree.ts'
import type { Located } from './request-path.ts'

export interface ObjectAnswersDeps {
  store: ObjectStore
  /** true: clients are redirected to a signed address of the store. false: the bytes pass through this process. */
  redirects: boolean
}

export type ObjectAnswers = (
  exchange: Exchange,
  file: Located,
  object: PublishedObject,
  observedMs: number,
) => Promise<void>

/** A client begins its download as soon as it has the address, but a proxy in between may queue it. */
const ADDRESS_SECONDS = 300
/** Whoever has the address can read the file, so one of a private file is short-lived. */
const PRIVATE_ADDRESS_SECONDS = 60
/** Transfers at the same time; each has one connection to the store and up to 128 KiB in memory. */
const MOST_TRANSFERS = 100

export function createObjectAnswers({ store, redirects }: ObjectAnswersDeps): ObjectAnswers {
  let transfers = 0

  return async (exchange, file, object, observedMs) => {
    const shown = remoteFile(file, object, observedMs)
    const key = objectKey(object)
    if (redirects) {
      await answerWithRedirect(exchange, shown, observedMs, () =>
        store.signedUrl(
          key,
          typeof file.admission?.place === 'string' ? PRIVATE_ADDRESS_SECONDS : ADDRESS_SECONDS,
          shown.kind.mediaType,
        ),
      )
      return
    }
    if (transfers >= MOST_TRANSFERS) {
      refuse(exchange, 503, ['Retry-After', '1'])
      return
    }
    transfers++
    try {
      await answerWithStream(exchange, shown, observedMs, async (part, isWhole) => {
        const found = await store.get(key, isWhole ? undefined : part)
        if (!found) return null
        if (found.sizeBytes === part.last - part.first + 1) return found.stream
        found.stream.destroy()
        throw new Error(`the object ${key} of ${store.name} has another size than the link to it`)
      })
    } finally {
      transfers--
    }
  }
}

/** The link contains everything for the header, so a request without a body never reaches the store. */
function remoteFile(file: Located, { sha256, sizeBytes, linkedMs }: PublishedObject, observedMs: number): RemoteFile {
  const kind = kindOfFile(file)
  const validators = validatorsOf(`"${sha256}"`, linkedMs, observedMs)
  return { kind, sizeBytes, validators, headers: fileHeaders(kind, sizeBytes, validators, observedMs) }
}
