// /settings/gpg: the OpenPGP key that signs the repositories, and its replacement.
import { Problem } from '../../domain/problem.ts'
import { SIGNING_KEY, type KeyReplacement } from '../../publish/own-key.ts'
import type { Keys } from '../../publish/signing/keys.ts'
import type { AuditLog } from '../../audit/log.ts'
import type { Db } from '../../store/db.ts'
import { openTask } from '../../tasks/task-query.ts'
import type { Tasks } from '../../tasks/tasks.ts'
import { handle, type Route } from '../http/route.ts'
import { getSettingsGpg, postSettingsGpgGenerate } from './settings.contract.ts'

export interface SigningKeyDeps {
  keys: Pick<Keys, 'facts' | 'openpgp'>
  db: Db
  tasks: Pick<Tasks, 'run'>
}

export function signingKeyRoutes(audit: Pick<AuditLog, 'record'>, { keys, db, tasks }: SigningKeyDeps): Route[] {
  // The facts are read first: with them comes a key that another replica has made.
  const shown = async () => ({ keys: await keys.facts(), public_key_armored: keys.openpgp.publicKeyArmored })
  return [
    handle(getSettingsGpg, shown),
    handle(postSettingsGpgGenerate, async ({ body, caller, origin }) => {
      if (body.rotate !== true)
        throw new Problem(
          'signing_key_exists',
          `the repositories are signed with the key ${keys.openpgp.fingerprint}; with rotate: true a new one replaces it, which every client then needs`,
        )
      const open = await openTask(db, SIGNING_KEY, '')
      if (open) throw new Problem('already_running', 'the signing key is being replaced', { task_id: open.id })
      const request = { kind: SIGNING_KEY, createdBy: caller.name, requestId: origin.requestId }
      const { former, fingerprint, failed } = (await tasks.run(request)) as unknown as KeyReplacement
      await audit.record({
        action: 'GPG_GENERATE',
        result: failed.length === 0 ? 'SUCCESS' : 'WARNING',
        user: caller.name,
        detail: `${fingerprint} replaces ${former}${failed.length === 0 ? '' : `; not signed again: ${failed.join(', ')}`}`,
        ...origin,
        extra: { former, fingerprint, failed },
      })
      return { ...(await shown()), failed }
    }),
  ]
}
