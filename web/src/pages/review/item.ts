// The queries of the review page.
import { read, type Answered } from '../../api/api.ts'
import type { RecordId } from './record-id.ts'

export const QUEUE = 'GET /security/review-queue'

export type QueueItem = Answered<typeof QUEUE>['items'][number]

export type QueueGroup = NonNullable<Answered<typeof QUEUE>['groups']>[number]

export const evidenceOf = ({ name, version, distribution, arch }: RecordId) =>
  read('GET /security/packages/{name}/{version}/evidence', { params: { name, version }, query: { distribution, arch } })

export type Evidence = Answered<'GET /security/packages/{name}/{version}/evidence'>
export type Action = 'accept_risk' | 'exception' | 'upgrade_required' | 'reject'
