// One version of a package: its files, and the packages that need it.
import { filesPage } from '../../domain/packed-facts.ts'
import type { Placed } from '../../formats/intake-format.ts'
import { dependantsOf } from '../../gate/dependants.ts'
import { unknownPackage } from '../../packages/delete-packages.ts'
import type { Db } from '../../store/db.ts'
import { storedFacts, fileListOf } from '../../store/files/blob-query.ts'
import { getArtifactsNameVersionDependants, getArtifactsNameVersionFiles } from './details.contract.ts'
import { handle, type Route } from '../http/route.ts'
import { page } from '../http/schemas.ts'
import { selectorOf } from '../security/schemas.ts'
import { findRepresentative } from '../security/views.ts'

export interface ArtifactDetailDeps {
  db: Db
  offered(codename: string): Placed
}

type Addressed = Parameters<typeof selectorOf>[0]

export function artifactDetailRoutes({ db, offered }: ArtifactDetailDeps): Route[] {
  /** Of several records, the one that lists show too. */
  async function find(call: Addressed) {
    const selector = selectorOf(call, undefined)
    const row = await findRepresentative(db, selector)
    if (!row) throw unknownPackage(selector)
    return row
  }
  const about = ({ name, version, arch, distribution }: Awaited<ReturnType<typeof find>>) => ({
    ...{ package: name, version, arch, distribution },
  })

  return [
    handle(getArtifactsNameVersionFiles, async ({ params, query }) => {
      const row = await find({ params, query })
      const files = await fileListOf(db, row.sha256)
      const skip = (query.page - 1) * query.per_page
      const { paths, total } = await filesPage(files, { q: query.q, skip, limit: query.per_page })
      return { ...page(paths, total, query), ...about(row) }
    }),
    handle(getArtifactsNameVersionDependants, async ({ params, query }) => {
      const row = await find({ params, query })
      const facts = await storedFacts(db, row.sha256)
      const { packages, truncated } = await dependantsOf(db, offered(row.distribution), { ...facts, id: row.id })
      const from = (query.page - 1) * query.per_page
      const items = packages.slice(from, from + query.per_page).map(({ id: _id, ...one }) => one)
      return { ...page(items, packages.length, query), total_capped: truncated, ...about(row) }
    }),
  ]
}
