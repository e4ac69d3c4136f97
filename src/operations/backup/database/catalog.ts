// What PostgreSQL's own catalog states about the tables of the current schema.
import type { Lease } from '../../../store/lease.ts'

export interface Table {
  name: string
  /** the name in the form for a statement */
  quoted: string
  columns: readonly string[]
  quotedColumns: readonly string[]
  /** unlogged tables hold work in progress and are not backed up */
  isLogged: boolean
  /** pages of the main part, without large values that are stored out of line */
  pages: number
  bytes: number
  references: readonly string[]
}

export interface Sequence {
  name: string
  quoted: string
  /** null: never used */
  lastValue: string | null
  firstValue: string
}

/** @returns all tables, each after those that its foreign keys refer to */
export async function tablesOf(lease: Lease): Promise<Table[]> {
  const { rows } = await lease.query(
    `select c.relname::text as name, c.oid::regclass::text as quoted, c.relpersistence <> 'u' as "isLogged",
      (pg_relation_size(c.oid) / current_setting('block_size')::int)::int as pages, pg_table_size(c.oid)::float8 as bytes,
      array(select attname::text from pg_attribute where attrelid = c.oid and attnum > 0 and not attisdropped and attgenerated = ''
        order by attnum) as columns,
      array(select quote_ident(attname) from pg_attribute where attrelid = c.oid and attnum > 0 and not attisdropped
        and attgenerated = '' order by attnum) as "quotedColumns",
      array(select distinct r.relname::text from pg_constraint f join pg_class r on r.oid = f.confrelid
        where f.conrelid = c.oid and f.contype = 'f' and f.confrelid <> c.oid) as "references"
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = current_schema() and c.relkind = 'r'
      and not exists (select from pg_depend d where d.objid = c.oid and d.classid = 'pg_class'::regclass and d.deptype = 'e')
    order by c.relname`,
    [],
  )
  return inOrder(rows as unknown as Table[])
}

/** Each table after those that it refers to. Tables that refer to each other in a circle cannot be loaded row by row. */
export function inOrder<T extends Pick<Table, 'name' | 'references'>>(tables: readonly T[]): T[] {
  const waiting = new Map(tables.map((table) => [table.name, table]))
  const order: T[] = []
  while (waiting.size > 0) {
    const ready = [...waiting.values()].filter(({ references }) => references.every((name) => !waiting.has(name)))
    if (ready.length === 0) throw new Error(`foreign keys form a circle: ${[...waiting.keys()].join(', ')}`)
    for (const table of ready) {
      order.push(table)
      waiting.delete(table.name)
    }
  }
  return order
}

export async function sequencesOf(lease: Lease): Promise<Sequence[]> {
  const { rows } = await lease.query(
    `select sequencename::text as name, format('%I.%I', schemaname, sequencename) as quoted,
      last_value::text as "lastValue", start_value::text as "firstValue"
    from pg_sequences where schemaname = current_schema() order by sequencename`,
    [],
  )
  return rows as unknown as Sequence[]
}
