// The endpoints below `/setup`. Each handler is one call to `accounts`.
import type { Setup } from '../../accounts/setup.ts'
import { type Route } from '../http/route.ts'
import { getSetupStatus, postSetup, getSetupPreflight } from './setup.contract.ts'
import { handle } from '../http/route.ts'

export interface SetupDeps {
  setup: Setup
}

export function setupRoutes({ setup }: SetupDeps): Route[] {
  return [
    handle(getSetupStatus, () => setup.status()),
    handle(postSetup, ({ body, raw, origin }) => {
      const sent = raw.headers['x-setup-token']
      return setup.createFirstAdmin(body, typeof sent === 'string' ? sent : undefined, origin)
    }),
    handle(getSetupPreflight, ({ caller }) => setup.preflight(caller)),
  ]
}
