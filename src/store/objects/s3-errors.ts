// What an error of the S3 client means.
import { S3ServiceException } from '@aws-sdk/client-s3'
import { StorageUnavailable } from './object-store.ts'

/** A missing bucket is a fault of the configuration, not a missing object. */
export function isMissingObject(error: unknown): boolean {
  return error instanceof S3ServiceException && ['NoSuchKey', 'NotFound'].includes(error.name)
}

/** The client's errors contain the request with its signature, so only their names are passed on. */
export function unavailable(store: string, error: unknown): StorageUnavailable {
  if (error instanceof S3ServiceException) {
    const status = error.$metadata.httpStatusCode ?? 0
    const isRefusal = status >= 300 && status < 500 && status !== 408 && status !== 429
    const what = isRefusal ? 'refused a request' : 'could not carry out a request'
    return new StorageUnavailable(`the object store ${store} ${what}: ${error.name} (${status})`, isRefusal)
  }
  const { name, code } = error as NodeJS.ErrnoException
  return new StorageUnavailable(`the object store ${store} does not answer (${code ?? name})`, false)
}

/** Renames the timeout of an open connection, so that the client does not retry it. @throws the error */
export function onceWhenSilent(error: Error): never {
  if (error.name === 'TimeoutError' && !isUnconnected(error))
    // Without a cause, because the client would look at it too.
    throw Object.assign(new Error('the store takes or sends nothing'), { name: 'NoProgress' })
  throw error
}

const isUnconnected = ({ message }: Error) => message.includes('did not establish a connection')

/** Errors of a request that never left this machine. */
const NOT_CONNECTED = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'])

/** Whether the store may still execute a failed request: it was sent, and the store itself did not answer it. */
export function mayHaveArrived(error: unknown): boolean {
  // A proxy in front of the store answers 502 and 504.
  if (error instanceof S3ServiceException) return [500, 502, 504].includes(error.$metadata.httpStatusCode ?? 0)
  const { code = '' } = error as NodeJS.ErrnoException
  return !NOT_CONNECTED.has(code) && !isUnconnected(error as Error)
}
