// OpenVEX 0.2.0 (https://github.com/openvex/spec): review decisions as statements that scanners read.
import type { Placed } from '../../formats/intake-format.ts'
import { decisionPages, inventoryRows, type InventoryRow } from '../records/inventory-query.ts'
import type { DecisionRow } from '../../store/tables.ts'
import type { Db } from '../../store/db.ts'
import { sentenceOf } from './analysis.ts'
import { latest } from './entry.ts'
import { jsonObject } from './json-stream.ts'
import { purlOf } from './purl.ts'

const PAGE = 100

export interface OpenVexDeps {
  db: Db
  find(codename: string): Placed | null
}

/**
 * Active decisions, oldest first, with one statement for each covered vulnerability. Every status is `affected`, with the
 * decision as the action statement, because reviews do not examine whether a vulnerability is exploitable.
 * @param version of this service
 */
export function openvex(
  deps: OpenVexDeps,
  codename: string | undefined,
  version: string,
): AsyncGenerator<string, void, void> {
  let time: Date | null = null

  async function* statements() {
    for await (const decisions of decisionPages(deps.db, codename, PAGE)) {
      const rows = await inventoryRows(
        deps.db,
        decisions.map((decision) => decision.package_id),
      )
      for (const decision of decisions) {
        const row = rows.get(decision.package_id)
        const offered = deps.find(decision.distribution)
        if (!row || !offered || decision.covers.length === 0) continue
        time = latest(time, decision.decided_at)
        for (const cover of [...decision.covers].sort((a, b) => (a.id < b.id ? -1 : 1)))
          yield statement(decision, cover.id, row, offered)
      }
    }
  }

  return jsonObject(
    { '@context': 'https://openvex.dev/ns/v0.2.0', author: 'Gatehouse', role: 'Package repository', version: 1 },
    { statements: statements() },
    (uuid) => ({
      tooling: `Gatehouse ${version}`,
      timestamp: (time ?? new Date(0)).toISOString(),
      '@id': `urn:uuid:${uuid}`,
    }),
  )
}

function statement(decision: DecisionRow, vulnerability: string, row: InventoryRow, offered: Placed) {
  const purl = purlOf(row, offered)
  return {
    vulnerability: { name: vulnerability },
    timestamp: decision.decided_at.toISOString(),
    products: [{ '@id': purl, identifiers: { purl }, hashes: { 'sha-256': row.sha256, 'sha-512': row.sha512 } }],
    status: 'affected',
    action_statement: sentenceOf(decision),
    action_statement_timestamp: decision.decided_at.toISOString(),
  }
}
