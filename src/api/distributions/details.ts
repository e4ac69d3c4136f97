// One distribution: the set-up of clients, and its publications.
import type { IncomingMessage } from 'node:http'
import { Problem } from '../../domain/problem.ts'
import type { Offered } from '../../formats/format.ts'
import type { DistributionSetup } from '../../formats/serving.ts'
import { unknownDistribution } from '../../formats/unknown-distribution.ts'
import { isoTime } from '../../kernel/clock.ts'
import type { Db } from '../../store/db.ts'
import { isPrivateDistribution } from '../../store/records/served-query.ts'
import { publicationPage } from '../../packages/records/publication-query.ts'
import { getDistributionsCodenamePublications, getDistributionsCodenameSetup } from './details.contract.ts'
import { handle, type Route } from '../http/route.ts'
import { page } from '../http/schemas.ts'

export interface DistributionDetailDeps {
  db: Db
  /** all distributions, active or not */
  all: readonly Offered[]
  /** null if the distribution is not offered; the addresses depend on how the client reached this service */
  setupOf(codename: string, request: IncomingMessage, signsIn: boolean): DistributionSetup | null
}

export function distributionDetailRoutes(deps: DistributionDetailDeps): Route[] {
  function find(codename: string): Offered {
    const found = deps.all.find(({ distribution }) => distribution.codename === codename)
    const known = deps.all.map(({ distribution }) => distribution)
    if (!found) throw unknownDistribution(codename, known, 'not_found')
    return found
  }

  return [
    handle(getDistributionsCodenameSetup, async ({ params: { codename }, raw }) => {
      const { distribution, format } = find(codename)
      const isPrivate = await isPrivateDistribution(deps.db, codename)
      const setup = deps.setupOf(codename, raw.raw, isPrivate)
      if (!setup) throw new Problem('distribution_inactive', `${codename} is not served here`)
      return {
        codename,
        full_name: distribution.fullName,
        format: format.id,
        package_manager: distribution.packageManager,
        url: setup.url,
        key_url: setup.keyUrl,
        command: setup.command,
        install_command: setup.install,
        file: { url: setup.file.url, install_as: setup.file.installAs, content: setup.file.content },
        script: setup.script,
        private: isPrivate,
        credentials: setup.credentials && {
          install_as: setup.credentials.installAs,
          content: setup.credentials.content,
        },
      }
    }),
    handle(getDistributionsCodenamePublications, async ({ params: { codename }, query }) => {
      find(codename)
      const at = { page: query.page, perPage: query.per_page }
      const { rows, total, capped } = await publicationPage(deps.db, codename, at)
      const items = rows.map(({ published_at, ...row }) => ({ ...row, published_at: isoTime(published_at) }))
      return { ...page(items, total, query), total_capped: capped }
    }),
  ]
}
