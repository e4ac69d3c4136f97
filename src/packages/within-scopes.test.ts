// Which packages a token with scopes may bring: by their own name, and by the names that they replace.
import { expect, test } from 'vitest'
import type { Scopes } from '../domain/scopes.ts'
import { findDistribution } from '../formats/index.ts'
import type { Offered } from '../formats/format.ts'
import type { Stated } from './reserved-names.ts'
import { requireWithin } from './within-scopes.ts'

const SCOPES: Scopes = {
  names: ['team-a-*', 'mail-transport-agent'],
  distributions: ['jammy', 'almalinux9', 'alpine3.20'],
}

function stated(name: string, provides: string[] = [], obsoletes: string[] = []): Stated {
  const relation = (one: string) => ({ name: one, operator: null, version: null })
  return {
    name,
    provides: provides.map(relation),
    requirements: obsoletes.map((one) => ({
      ...{ kind: 'obsoletes', strong: true, text: one, anyOf: [relation(one)] },
    })),
  } as unknown as Stated
}

test.each<[codename: string, refusal: string | null, package_: Stated]>([
  ['jammy', null, stated('team-a-tool')],
  ['jammy', null, stated('team-a-mta', ['mail-transport-agent', 'team-a-tool'])],
  ['jammy', 'this is team-b-tool', stated('team-b-tool')],
  ['noble', 'this is noble', stated('team-a-tool')],
  ['jammy', 'provides team-b-tool', stated('team-a-tool', ['team-a-x', 'team-b-tool'])],
  ['almalinux9', null, stated('team-a-tool', ['team-a-tool', 'team-a-tool(x86-64)', 'config(team-a-tool)'])],
  ['almalinux9', null, stated('team-a-lib', ['libx.so.1()(64bit)', 'libx.so.1', 'pkgconfig(x)', '/usr/bin/x'])],
  ['almalinux9', 'provides team-b-tool', stated('team-a-tool', ['team-b-tool(aarch-64)'])],
  ['almalinux9', 'replaces team-b-tool', stated('team-a-tool', [], ['team-b-tool'])],
  ['alpine3.20', null, stated('team-a-tool', ['cmd:x', 'so:libx.so.1', 'pc:x'])],
  ['alpine3.20', 'provides team-b-tool', stated('team-a-tool', ['team-b-tool'])],
])('in %s: %s', (codename, refusal, package_) => {
  const offered = findDistribution(codename) as Offered
  const bring = () => requireWithin(SCOPES, offered, package_)
  if (refusal === null) expect(bring).not.toThrow()
  else expect(bring).toThrow(expect.objectContaining({ code: 'forbidden', detail: expect.stringContaining(refusal) }))
})
