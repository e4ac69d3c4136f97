// Since which entry this database has rows: files of an earlier database hold older ones, and a row that is missing must show. A
// build before this one neither reads nor writes it.
import { statements } from './run.ts'

export const auditBegan = statements([
  `alter table audit_chain add column began_seq bigint`,
  `update audit_chain set began_seq = coalesce((select min(seq) - 1 from audit), seq)`,
])
