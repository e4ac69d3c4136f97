// /settings/gpg: the OpenPGP key that signs the repositories, and its replacement.
import { Problem } from '../../domain/problem.ts'
import type { SigningKeyFiles } from '../../publish/own-key.ts'
import type { Keys } from '../../publish/signing/keys.ts'
import type { AuditLog } from '../../audit/log.ts'
import { handle, type Route } from '../http/route.ts'
import { getSettingsGpg, postSettingsGpgGenerate } from './settings.contract.ts'

export interface SigningKeyDeps {
  keys: Pick<Keys, 'facts' | 'openpgp'>
  replace: SigningKeyFiles['replace']
}

export function signingKeyRoutes(audit: Pick<AuditLog, 'record'>, { keys, replace }: SigningKeyDeps): Route[] {
  const shown = async () => ({ keys: await keys.facts(), public_key_armored: keys.openpgp.publicKeyArmored })
  return [
    handle(getSettingsGpg, shown),
    handle(postSettingsGpgGenerate, async ({ body, caller, origin }) => {
      const former = keys.openpgp.fingerprint
      if (body.rotate !== true)
        throw new Problem(
          'signing_key_exists',
          `the repositories are signed with the key ${former}; with rotate: true a new one replaces it, which every client then needs`,
        )
      const failed = await replace()
      await audit.record({
        action: 'GPG_GENERATE',
        result: failed.length === 0 ? 'SUCCESS' : 'WARNING',
        user: caller.name,
        detail: `${keys.openpgp.fingerprint} replaces ${former}${failed.length === 0 ? '' : `; not signed again: ${failed.join(', ')}`}`,
        ...origin,
        extra: { former, fingerprint: keys.openpgp.fingerprint, failed },
      })
      return { ...(await shown()), failed }
    }),
  ]
}
