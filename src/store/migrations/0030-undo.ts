// What a decision changed in its record, for the minute in which it can be undone.
import { statements } from './run.ts'

export const undo = statements([
  `create table undo_notes (
    decision_id bigint primary key references decisions on delete cascade, until timestamptz not null, before jsonb not null)`,
])
