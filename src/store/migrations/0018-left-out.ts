// What a sync leaves out of its source, and up to which revision of the target a security source was compared.
import { statements } from './run.ts'

export const leftOut = statements([
  `alter table sources add left_out int not null default 0, add not_carried jsonb, add compared_revision bigint`,
])
