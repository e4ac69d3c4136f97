// What npm audit is answered. Names are of the client's making: `constructor` is one.
import { append } from '../../kernel/append.ts'
import { SEVERITIES, type NpmAdvisory } from './npm-advisory.ts'

/** A version in the tree of the client, and an advisory about it. */
export interface Finding {
  version: string
  advisory: NpmAdvisory
}

/** The findings of each advisory about each name. */
function byAdvisory(findings: readonly Finding[]): Finding[][] {
  const groups = new Map<string, Finding[]>()
  for (const one of findings) append(groups, `${one.advisory.id} ${one.advisory.name}`, one)
  return [...groups.values()]
}

/** Advisories by name. */
export function bulkAnswer(findings: readonly Finding[]): Record<string, NpmAdvisory[]> {
  const byName = new Map<string, NpmAdvisory[]>()
  for (const [first] of byAdvisory(findings)) append(byName, first!.advisory.name, first!.advisory)
  return Object.fromEntries(byName)
}

/** https://github.com/npm/cli/blob/v6/lib/install/audit.js reads it; paths are the names alone. */
export function treeAnswer(total: number, findings: readonly Finding[]) {
  const groups = byAdvisory(findings)
  const shown = groups.map((group): [string, object] => {
    const { advisory } = group[0]!
    return [
      String(advisory.id),
      { ...advisory, findings: group.map(({ version }) => ({ version, paths: [advisory.name] })) },
    ]
  })
  const counts = SEVERITIES.map((severity): [string, number] => [
    severity,
    groups.filter(([first]) => first!.advisory.severity === severity).length,
  ])
  return {
    ...{ actions: [], muted: [], advisories: Object.fromEntries(shown) },
    metadata: {
      vulnerabilities: Object.fromEntries(counts),
      ...{ dependencies: total, devDependencies: 0, optionalDependencies: 0, totalDependencies: total },
    },
  }
}
