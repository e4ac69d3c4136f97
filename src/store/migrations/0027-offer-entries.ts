// Index entries belong to offers and stay as long as these, so that the index of a kept revision can be rendered again. The rows stay
// where they are: 1,000,000 of 1 KiB take a new index (2 s, measured), during which nothing publishes. What was ended before has no entries.
//
// A build before this one reads and adds the entries of what is offered now by the old names, which are views; what it deletes there
// stays. Triggers end and delete the entries with their offer, whichever build does.
import { statements } from './run.ts'

const moved = (before: string, after: string, columns: string) => [
  `alter table ${before} drop constraint ${before}_package_id_fkey, drop constraint ${before}_pkey,
    add column until_revision bigint`,
  `alter table ${before} rename to ${after}`,
  `create unique index ${after}_key on ${after} (package_id, until_revision, ${columns}) nulls not distinct`,
  `create view ${before} as select package_id, ${columns}, bytes from ${after} where until_revision is null`,
  `create rule ${before}_stay as on delete to ${before} do instead nothing`,
]

export const offerEntries = statements([
  // In the order of the transactions of older builds that run meanwhile.
  `do $$ begin lock table packages, entries, entry_pieces, offers in access exclusive mode; end $$`,
  ...moved('entries', 'offer_entries', 'stream'),
  ...moved('entry_pieces', 'offer_entry_pieces', 'stream, piece'),
  `create function end_entries() returns trigger language plpgsql as $$ begin
    update offer_entries set until_revision = new.until_revision
      where package_id = new.package_id and until_revision is null;
    update offer_entry_pieces set until_revision = new.until_revision
      where package_id = new.package_id and until_revision is null;
    return null;
  end $$`,
  `create trigger offers_end_entries after update of until_revision on offers for each row
    when (old.until_revision is null and new.until_revision is not null) execute function end_entries()`,
  `create function delete_entries() returns trigger language plpgsql as $$ begin
    delete from offer_entries where package_id = old.package_id and until_revision is not distinct from old.until_revision;
    delete from offer_entry_pieces
      where package_id = old.package_id and until_revision is not distinct from old.until_revision;
    return null;
  end $$`,
  `create trigger offers_delete_entries after delete on offers for each row execute function delete_entries()`,
])
