// The object store for packages, if one is configured.
import type { PoolEnv } from '../../config/env.ts'
import { StartError } from '../../kernel/start-error.ts'
import { StorageUnavailable, type ObjectStore } from '../../store/objects/object-store.ts'

/**
 * Opens the store of POOL_URL; null without one. A store that does not answer is a warning: indexes can be served without it.
 * @throws StartError when the store refuses the credentials or has no such bucket
 */
export async function openObjectStore(
  env: PoolEnv,
  log: { warn(sentence: string): void },
): Promise<ObjectStore | null> {
  const { poolUrl, awsAccessKeyId: accessKeyId, awsSecretAccessKey: secretAccessKey } = env
  if (poolUrl === null || accessKeyId === null || secretAccessKey === null) return null
  // The client is 20 MB of code that most installations do not need.
  const { openS3 } = await import('../../store/objects/s3.ts')
  const store = openS3(poolUrl, { accessKeyId, secretAccessKey })
  try {
    await store.check()
  } catch (error) {
    if (!(error instanceof StorageUnavailable)) throw error
    if (error.isRefusal) throw new StartError(`POOL_URL: ${error.detail}`)
    log.warn(`POOL_URL: ${error.detail}; packages cannot be stored or downloaded until it does`)
  }
  return store
}
