// Queues the task that signs packages again whose signature clients refuse (`intake/sign-again.ts`). Builds of before do
// not know the kind and leave it.
import { statements } from './run.ts'

export const signAgain = statements([
  `insert into tasks (kind, state, created_at, created_by)
    select 'sign_again', 'queued', now(), 'system' where exists (select from blobs)`,
])
