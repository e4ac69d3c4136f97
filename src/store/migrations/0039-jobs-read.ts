// Tokens of CI jobs read private places that their scopes name: listeners learn of them as of those of people.
import { statements } from './run.ts'

const READS = `(new.created_by_id is not null or new.scopes ? 'distributions')`

export const jobsRead = statements(
  ['insert', 'update'].flatMap((event) => [
    `drop trigger api_tokens_${event}_access on api_tokens`,
    `create constraint trigger api_tokens_${event}_access after ${event} on api_tokens deferrable initially deferred for each row
      when (${READS} ${event === 'update' ? 'and old.revoked_at is distinct from new.revoked_at' : ''})
      execute function note_access_change()`,
  ]),
)
