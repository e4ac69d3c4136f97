// Later scans of stored packages: components inside files, and the second scanners.
import { statements } from './run.ts'

export const scans = statements([
  `create table component_reads (
    sha256 text primary key references blobs on delete cascade,
    read_at timestamptz not null, files_seen int not null, bytes bigint not null, skipped jsonb not null)`,
  `create table components (
    sha256 text not null references component_reads on delete cascade,
    ecosystem text not null, name text not null, version text not null, key text not null, path text not null, license text,
    primary key (sha256, ecosystem, name, version))`,
  `create index components_key on components (ecosystem, key)`,
  `create table component_work (
    package_id bigint primary key references packages on delete cascade, sha256 text not null)`,
  // A new record, or a record with new bytes, is queued for the component scan in the same transaction.
  `create function ask_for_components() returns trigger language plpgsql as $$ begin
    insert into component_work (package_id, sha256) values (new.id, new.sha256)
      on conflict (package_id) do update set sha256 = excluded.sha256;
    return null;
  end $$`,
  `create trigger packages_components after insert or update of sha256 on packages for each row execute function ask_for_components()`,
  // The published packages that the second scanners have scanned. A package without a row is pending.
  `create table cross_checks (
    package_id bigint not null references packages on delete cascade,
    engine text not null, word text not null, checked_at timestamptz not null,
    primary key (package_id, engine))`,
])
