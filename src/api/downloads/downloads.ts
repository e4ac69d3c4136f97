// /downloads: what package clients fetched, and who did.
import type { Downloads } from '../../operations/downloads/downloads.ts'
import { getDownloadsPackagesName, getDownloadsStats } from './downloads.contract.ts'
import { sendList } from '../http/list-stream.ts'
import { handle, type Route } from '../http/route.ts'

export function downloadRoutes({ downloads }: { downloads: Downloads }): Route[] {
  return [
    handle(getDownloadsStats, ({ query: { days } }) => downloads.stats(days)),
    handle(getDownloadsPackagesName, async ({ params, query: { include_clients: withClients, ...query }, reply }) => {
      const { head, pages } = await downloads.ofName({ ...params, ...query })
      return sendList(reply, head, 'downloaded_by', withClients ? pages : none())
    }),
  ]
}

async function* none(): AsyncGenerator<never[]> {
  // Left out.
}
