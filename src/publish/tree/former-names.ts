// Removes names under which clients found a distribution, once no stored definition has them.
import { readdir, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Distribution } from '../../domain/package.ts'
import { formats } from '../../formats/index.ts'
import { fsyncPath, ifMissing } from '../../kernel/files.ts'
import type { Paths } from '../../store/paths.ts'
import { leadsTo, treeOf } from './tree.ts'

/** @param rows of all distributions: the stored definitions count for every replica, whatever its own declaration says */
export async function removeFormerNames(paths: Paths, rows: readonly { definition: Distribution }[]): Promise<void> {
  const trees = rows.flatMap(({ definition }) => {
    const format = formats.find(({ id }) => id === definition.format)
    return format?.hasReleaseFields ? [treeOf(paths, format, definition)] : []
  })
  const kept = new Set(trees.flatMap(({ link, standing }) => [link, ...standing.map(({ path }) => path)]))
  for (const directory of new Set(trees.map(({ link }) => dirname(link)))) {
    const entries = await readdir(directory, { withFileTypes: true }).catch(ifMissing([]))
    const links = entries.filter((entry) => entry.isSymbolicLink()).map(({ name }) => join(directory, name))
    const former: string[] = []
    for (const path of links) {
      if (kept.has(path)) continue
      const leads = await Promise.all(trees.map(({ link }) => leadsTo(path, link)))
      if (leads.includes(true)) former.push(path)
    }
    for (const path of former) await rm(path, { force: true })
    if (former.length > 0) await fsyncPath(directory)
  }
}
