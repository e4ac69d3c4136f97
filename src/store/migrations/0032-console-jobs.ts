// For what people do in the console: held packages that are assigned, findings of each day, and lookups by uploader and by file.
import { statements } from './run.ts'

export const consoleJobs = statements([
  `alter table reviews add column assigned_to text, add column assigned_at timestamptz`,
  // By severity; null on days of builds before this one.
  `alter table pool_days add column findings jsonb`,
  `create index packages_imported_by on packages (imported_by, id)`,
  // Only of files that were signed here: the others have one digest.
  `create index packages_received_as on packages (received_sha256) where received_sha256 <> sha256`,
  `create index blobs_filename on blobs (filename)`,
])
