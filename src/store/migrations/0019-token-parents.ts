// The token that created a token: the second ends with the first.
import { statements } from './run.ts'

export const tokenParents = statements([`alter table api_tokens add column parent_id text`])
