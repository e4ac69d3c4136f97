// Reads more of the queue than a page has.
import { client, valueOf } from '../../api/api.ts'
import type { Call } from '../../../../client/src/index.ts'
import { QUEUE, type QueueItem } from './item.ts'
import { idOf } from './record-id.ts'
import { MOST_SELECTED } from './selection.ts'

type Query = NonNullable<Call<typeof QUEUE>['query']>

/** Records on one page, at most. */
const PER_PAGE = 200

/** @returns the first records that match, at most as many as can be selected, each once; `total`: how many match */
export async function readAll(query: Query, signal?: AbortSignal): Promise<{ items: QueueItem[]; total: number }> {
  const found = new Map<string, QueueItem>()
  for (let page = 1; ; page++) {
    const asked = { ...query, page, per_page: PER_PAGE, include_findings: false }
    const { items, total, pages } = valueOf(await client.call(QUEUE, { query: asked, signal }))
    // Somebody may decide meanwhile: then a record can be on two pages.
    for (const item of items) found.set(idOf(item), item)
    if (page >= pages || page * PER_PAGE >= MOST_SELECTED)
      return { items: [...found.values()].slice(0, MOST_SELECTED), total }
  }
}
