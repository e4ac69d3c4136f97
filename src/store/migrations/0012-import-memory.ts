// The names of catalogs, many in one row, for searches by a part of a name; and what mirrors need not fetch again.
import { statements } from './run.ts'

/** Which list of its source a name is in: any even spread does, as long as it is the same everywhere. */
const part = (folded: string) => `left(md5(${folded}), 2)`

/** A line of a list. The last two fields are left out when they say nothing more. */
const line = `case when n.name = n.folded and n.packages = 1 then n.folded
    else n.folded || e'\\t' || n.name || e'\\t' || n.packages end`

const pack = (names: string) => `insert into catalog_name_lists (source_id, part, names)
    select n.source_id, ${part('n.folded')}, string_agg(${line}, e'\\n' order by n.folded, n.name) from ${names} group by 1, 2`

const changedLists = `(select distinct source_id, ${part('folded')} as part from changed) l`

export const importMemory = statements([
  // 200,000 names are 1,000 rows, which are scanned in 5 ms where `catalog_names` takes 40 (embedded database). A row is not
  // compressed, and stays in its page up to this size.
  `create table catalog_name_lists (source_id bigint not null references sources on delete cascade, part text not null,
    names text collate "C" not null, primary key (source_id, part)) with (toast_tuple_target = 8160)`,
  `alter table catalog_name_lists alter column names set storage external`,
  pack('catalog_names n'),
  // By a trigger, so that the syncs of an older build keep them too.
  `create function pack_catalog_names() returns trigger language plpgsql as $$ begin
    if exists (select from changed) then
      delete from catalog_name_lists d using ${changedLists} where d.source_id = l.source_id and d.part = l.part;
      ${pack(`catalog_names n join ${changedLists} on l.source_id = n.source_id and l.part = ${part('n.folded')}`)};
    end if;
    return null;
  end $$`,
  ...[
    ['insert', 'new'],
    ['update', 'new'],
    ['delete', 'old'],
  ].map(
    ([event, rows]) => `create trigger catalog_names_${event} after ${event} on catalog_names
    referencing ${rows} table as changed for each statement execute function pack_catalog_names()`,
  ),
  // Packages of a source that were fetched and refused. They are not fetched again while the rules of the gate are the same.
  `create table mirror_refusals (source_id bigint not null references sources on delete cascade, distribution text not null,
    digest text not null, rules text not null, code text not null, detail text, refused_at timestamptz not null,
    primary key (source_id, distribution, digest))`,
])
