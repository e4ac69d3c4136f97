// Index entries of packages with long file lists, in pieces: one value of 35 MB made the embedded database copy it five times.
//
// A build before this one does not see them: it leaves the whole package out of what it publishes while both builds serve,
// and the counts by which a process knows its cached blocks (publish/index/index-state) then differ, so they are made anew.
import { statements } from './run.ts'

export const entryPieces = statements([
  `create table entry_pieces (
    package_id bigint not null references packages on delete cascade, stream text not null, piece integer not null,
    bytes bytea not null, primary key (package_id, stream, piece))`,
  `alter table entry_pieces alter column bytes set storage external`,
])
