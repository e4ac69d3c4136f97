// What a decision covers: which findings, and whether it also applies where the same bytes wait elsewhere.
import { Checkbox, Group, SegmentedControl, Stack, Switch, Text } from '@mantine/core'
import { Exploited, SeverityMark } from '../../parts/marks.tsx'
import { count } from '../../parts/words.ts'
import { inOrder } from '../../parts/findings.tsx'
import type { Action, Evidence } from './item.ts'

export interface Scope {
  /** ids of findings; null: all findings that hold the package */
  findings: readonly string[] | null
  /** whether it also covers other distributions that hold the same bytes */
  elsewhere: boolean
  /** of a repository: whether it also covers the other held files of the version */
  files: boolean
}

export const WHOLE: Scope = { findings: null, elsewhere: false, files: true }

/** Other held files of the version in the same repository: wheels and the source distribution. */
export function otherFiles({ others, arch, distribution }: Evidence): string[] {
  const files = others.filter(
    (one) => one.status === 'pending_review' && one.distribution === distribution && one.arch !== arch,
  )
  return distribution.includes('/') ? files.map((one) => one.arch) : []
}

/** Distributions that hold the same bytes for the same architecture, if one decision can cover them all. */
export function heldElsewhere({ others, arch, distribution }: Evidence): string[] {
  const held = others.filter(
    (one) => one.status === 'pending_review' && one.arch === arch && one.distribution !== distribution,
  )
  return held.every(({ same_bytes: same }) => same) ? held.map((one) => one.distribution) : []
}

/** Findings that hold the package and that an approval of `chosen` leaves open: the service refuses such an approval. */
export function leftOpen(findings: Evidence['findings'], chosen: readonly string[]): Evidence['findings'] {
  return findings.filter(({ id, holding }) => holding && !chosen.includes(id))
}

interface ScopeProps {
  action: Action
  evidence: Evidence
  scope: Scope
  setScope: (scope: Scope) => void
}

export function ScopeChoice({ action, evidence, scope, setScope }: ScopeProps) {
  const [elsewhere, files] = [heldElsewhere(evidence), otherFiles(evidence)]
  const { findings, holding_total: holding } = evidence
  if (findings.length + elsewhere.length + files.length === 0) return null
  const chosen = scope.findings
  const start = () => findings.filter((finding) => finding.holding).map(({ id }) => id)
  return (
    <Stack gap="xs">
      {findings.length > 0 && (
        <div>
          <Text size="sm" fw={500} id="scope">
            Covers
          </Text>
          <SegmentedControl
            aria-labelledby="scope"
            value={chosen === null ? 'holding' : 'chosen'}
            onChange={(value) => setScope({ ...scope, findings: value === 'holding' ? null : start() })}
            data={[
              { value: 'holding', label: holding > 0 ? `all that hold it (${holding})` : 'the package' },
              { value: 'chosen', label: 'findings I choose' },
            ]}
          />
        </div>
      )}
      {chosen !== null && (
        <Choose {...{ action, evidence, chosen }} choose={(ids) => setScope({ ...scope, findings: ids })} />
      )}
      {files.length > 0 && (
        <Switch
          label={`Also ${count(files.length, 'other held file', 'other held files')} of this version: ${files.join(', ')}`}
          description="Held for the same reason, with the same findings; otherwise it is refused, and each is decided by itself."
          checked={scope.files}
          onChange={(event) => setScope({ ...scope, files: event.currentTarget.checked })}
        />
      )}
      {elsewhere.length > 0 && !(scope.files && files.length > 0) && (
        <Switch
          label={`Also in ${elsewhere.join(', ')}: the same bytes wait there`}
          checked={scope.elsewhere}
          onChange={(event) => setScope({ ...scope, elsewhere: event.currentTarget.checked })}
        />
      )}
    </Stack>
  )
}

interface ChooseProps {
  action: Action
  evidence: Evidence
  chosen: readonly string[]
  choose: (ids: readonly string[]) => void
}

function Choose({ action, evidence: { findings, findings_total: total }, chosen, choose }: ChooseProps) {
  const approves = action === 'accept_risk' || action === 'exception'
  const left = approves ? leftOpen(findings, chosen) : []
  return (
    <>
      <Stack
        gap={6}
        role="group"
        aria-label="Findings that it covers"
        style={{ maxHeight: '16rem', overflowY: 'auto' }}
      >
        {inOrder(findings).map(({ id, severity, in_kev: exploited }) => (
          <Checkbox
            key={id}
            checked={chosen.includes(id)}
            onChange={(event) =>
              choose(event.currentTarget.checked ? [...chosen, id] : chosen.filter((other) => other !== id))
            }
            label={
              <Group gap="sm">
                {id}
                <SeverityMark value={severity} />
                {exploited && <Exploited />}
              </Group>
            }
          />
        ))}
      </Stack>
      {total > findings.length && (
        <Text size="sm">{`The first ${findings.length} of ${total} can be chosen; the others stay as they are.`}</Text>
      )}
      {chosen.length === 0 && <Text size="sm">Choose at least one.</Text>}
      {left.length > 0 && (
        <Text size="sm" role="status">
          {`${count(left.length, 'finding that holds it is', 'findings that hold it are')} not covered (${left
            .slice(0, 5)
            .map(({ id }) => id)
            .join(
              ', ',
            )}). It cannot be published while one is open: choose them too, reject it, or ask for an upgrade.`}
        </Text>
      )}
    </>
  )
}
