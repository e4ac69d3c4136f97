// The rows that the statements of a request read, by table, and the scanned tables, from PostgreSQL's auto_explain.
import pg from 'pg'

/** Reads of one table by statements. */
export interface TableReads {
  /** rows that were read, including those that a filter removed */
  rows: number
  /** number of these rows in sequential scans */
  scanned: number
}

interface PlanNode {
  'Node Type': string
  'Relation Name'?: string
  'Actual Rows'?: number
  'Actual Loops'?: number
  'Rows Removed by Filter'?: number
  'Rows Removed by Index Recheck'?: number
  Plans?: PlanNode[]
}

/** A database address whose sessions write the plan of each statement to the server's log. Needs a superuser. */
export function explaining(databaseUrl: string): string {
  const url = new URL(databaseUrl)
  const settings = {
    session_preload_libraries: 'auto_explain',
    'auto_explain.log_min_duration': '0',
    'auto_explain.log_analyze': 'on',
    'auto_explain.log_timing': 'off',
    'auto_explain.log_format': 'json',
    log_min_messages: 'log',
  }
  const options = Object.entries(settings).map(([name, value]) => `-c ${name}=${value}`)
  url.searchParams.set('options', options.join(' '))
  return url.href
}

/** Reads the plans in the server's log. Needs the server of `bin/with-postgres.mjs`, whose log is beside its data. */
export async function openPlans(databaseUrl: string) {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  const ask = async <T>(text: string, values: unknown[] = []) => (await client.query(text, values)).rows[0] as T
  const { path } = await ask<{ path: string }>(`select current_setting('data_directory') || '/../log' as path`)
  const sizeOf = async () => Number((await ask<{ size: string }>('select size from pg_stat_file($1)', [path])).size)
  let at = await sizeOf()
  return {
    /** The reads of all statements since the last call, by table. */
    async since(): Promise<Map<string, TableReads>> {
      const end = await sizeOf()
      const { text } = await ask<{ text: string }>(
        `select convert_from(pg_read_binary_file($1, $2, $3), 'UTF8') as text`,
        [path, at, end - at],
      )
      at = end
      const reads = new Map<string, TableReads>()
      // A plan follows its duration, on lines that begin with a tab.
      for (const [, plan] of text.matchAll(/plan:\n((?:\t.*\n)+)/g))
        addReads((JSON.parse(plan!.replaceAll(/^\t/gm, '')) as { Plan: PlanNode }).Plan, reads)
      return reads
    },
    close: () => client.end(),
  }
}

function addReads(node: PlanNode, reads: Map<string, TableReads>): void {
  const table = node['Relation Name']
  // A bitmap comes from an index, and its rows are counted where they are fetched.
  if (table !== undefined && node['Node Type'].includes('Scan')) {
    const each =
      (node['Actual Rows'] ?? 0) + (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0)
    const rows = each * (node['Actual Loops'] ?? 0)
    const found = reads.get(table) ?? { rows: 0, scanned: 0 }
    found.rows += rows
    if (node['Node Type'] === 'Seq Scan') found.scanned += rows
    reads.set(table, found)
  }
  for (const child of node.Plans ?? []) addReads(child, reads)
}
