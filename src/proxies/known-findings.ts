// What the advisories of today say about the versions that an upstream lists.
import { isMalicious, type KnownFinding } from '../domain/curation.ts'
import { withAction } from '../domain/decide.ts'
import { factsToMatch } from '../domain/package.ts'
import { placeOfRepository } from '../domain/repositories.ts'
import type { Settings } from '../domain/settings.ts'
import type { OsvMatcher } from '../gate/engines/osv/matcher.ts'
import type { Repository } from '../registries/repositories.ts'

/** The findings of these versions of a name, by version; those without any are left out. */
export type KnownFindings = (
  repository: Repository,
  name: string,
  versions: readonly string[],
) => Promise<Record<string, KnownFinding[]>>

/** Versions that are matched between two turns of others. */
const MATCHED_TOGETHER = 200

export function createKnownFindings(deps: {
  matcher: Pick<OsvMatcher, 'scanAll'>
  settings(): Pick<Settings, 'cve_policy'>
}): KnownFindings {
  return async (repository, name, versions) => {
    const place = placeOfRepository(repository)
    const found: Record<string, KnownFinding[]> = {}
    for (let at = 0; at < versions.length; at += MATCHED_TOGETHER) {
      const facts = versions
        .slice(at, at + MATCHED_TOGETHER)
        .map((version) => ({ format: repository.format, name, version, arch: 'any' }))
        .map((one) => factsToMatch({ ...one, sourcePackage: null, sourceVersion: null }))
      const results = await deps.matcher.scanAll(facts, place)
      for (const [i, { findings }] of results.entries())
        if (findings.length > 0)
          found[facts[i]!.version] = findings.map((finding) => knownFinding(deps.settings(), finding))
    }
    return found
  }
}

type ScannedFinding = Awaited<ReturnType<OsvMatcher['scanAll']>>[number]['findings'][number]

function knownFinding(policy: Pick<Settings, 'cve_policy'>, scanned: ScannedFinding): KnownFinding {
  const {
    id,
    severity,
    action,
    aliases = [],
  } = withAction(policy, { ...scanned, first_seen: '', accepted_by_decision: false })
  const malicious = aliases.filter((alias) => isMalicious({ id: alias }))
  return { id, severity, action, ...(malicious.length > 0 ? { aliases: malicious } : {}) }
}
