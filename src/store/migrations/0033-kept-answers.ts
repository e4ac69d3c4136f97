// Answers to requests with an `Idempotency-Key`. Only a digest of the key is stored, and the answer is sealed: it may hold a token.
import { statements } from './run.ts'

export const keptAnswers = statements([
  `create table kept_answers (
    id text primary key, principal text not null, holder text not null, touched_at timestamptz not null,
    request text, answer text, check ((request is null) = (answer is null)))`,
  `create index kept_answers_age on kept_answers (touched_at)`,
])
