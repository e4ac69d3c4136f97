// The version that fixes a record under review, and who looks at one at the moment. Both are forgotten without loss.
import { statements } from './run.ts'

export const review = statements([
  // Valid while the record has this number of changes; null: no version fixes all that holds it.
  `create table fix_versions (
    package_id bigint primary key references packages on delete cascade, changes bigint not null, version text)`,
  `create table onlookers (
    package_id bigint not null references packages on delete cascade, username text not null, seen_at timestamptz not null,
    primary key (package_id, username))`,
  `create index onlookers_seen on onlookers (seen_at)`,
])
