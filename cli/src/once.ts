import { randomUUID } from 'node:crypto'

/** Headers of a request that makes something: when its answer is lost it is sent again, and the service makes it once. */
export const once = () => ({ 'idempotency-key': randomUUID() })
