// The result of a dry run: what would be imported, its size, the policy's verdict, and what would be left out and why.
import { Stack, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import type { Answered } from '../../api/api.ts'
import { Toned } from '../../parts/marks.tsx'
import { Rows } from '../../parts/rows.tsx'
import { When } from '../../parts/when.tsx'
import { bytes, count, type Tone } from '../../parts/words.ts'

type PlanAnswer = Answered<'GET /import/mirror/sources/{id}/plan'>
type Named = PlanAnswer['conflicting'][number]
type Coming = PlanAnswer['packages'][number]

/** What the gate would do, by the policy's action for the known findings. */
const POLICY: Record<'allow' | 'warn' | 'review' | 'block', { word: string; tone: Tone }> = {
  allow: { word: 'published', tone: 'good' },
  warn: { word: 'published with a warning', tone: 'care' },
  review: { word: 'held for review', tone: 'care' },
  block: { word: 'blocked', tone: 'bad' },
}

export function Plan({ plan }: { plan: PlanAnswer }) {
  const { selected, missing, present, missing_bytes: size, limits, policy, packages, withdrawn } = plan
  return (
    <section aria-label="Dry run" style={{ marginTop: '1rem' }}>
      <Stack gap="xs">
        <Text role="status" fw={600}>
          {`${missing === 0 ? 'Nothing would come' : `${count(missing, 'package')} would come (${bytes(size)})`}; ${selected} selected, ${present} here already.`}
        </Text>
        <Text size="sm" c="dimmed">
          By the catalog as it was read last. Nothing was fetched. What only the files show (malware, components,
          signatures) is not known yet.
        </Text>
        <Dependencies of={plan.dependencies} />
        {missing > 0 && <Policy policy={policy} />}
        {missing > 0 && (
          <Toned tone={limits.fits ? 'good' : 'bad'}>
            {`${limits.fits ? 'fits on the disk' : 'does not fit on the disk'}: needs ${bytes(limits.needed_bytes)} with the reserve, ${bytes(limits.free_bytes)} free`}
          </Toned>
        )}
        {limits.runs > 1 && (
          <Text size="sm">
            {`One run brings at most ${count(limits.packages_per_run, 'package')}, so this takes ${limits.runs} runs.`}
          </Text>
        )}
        {packages.length > 0 && <ComingRows packages={packages} missing={missing} />}
        <Refused plan={plan} />
        {plan.rejected > 0 && (
          <Text size="sm">{`${count(plan.rejected, 'package')} left out: a person rejected these bytes.`}</Text>
        )}
        <Listed
          title={`${count(plan.reserved, 'package')} would be refused: the name is reserved for another way of arrival`}
          total={plan.reserved}
          packages={plan.reserved_packages}
        />
        <Listed
          title={`${count(plan.conflicts, 'package')} left out: other bytes are here under the same name, version and architecture`}
          total={plan.conflicts}
          packages={plan.conflicting}
        />
        <Listed
          title={`${count(withdrawn.total, 'package')} here that the source no longer offers: ${withdrawn.removed ? `the next run deletes ${plan.dependencies ? 'those that nothing here needs' : 'them'}` : 'they stay'}`}
          total={withdrawn.total}
          packages={withdrawn.packages}
        />
      </Stack>
    </section>
  )
}

function Dependencies({ of: dependencies }: { of: PlanAnswer['dependencies'] }) {
  if (!dependencies) return null
  const { selected, missing, unresolved, truncated } = dependencies
  const { total, requirements } = unresolved
  return (
    <>
      <Text size="sm">
        {`${count(selected, 'package')} selected only because others need them; ${missing} of them would come.`}
      </Text>
      {truncated && <Text size="sm">Some packages need more packages than are followed.</Text>}
      {total > 0 && (
        <Folded title={`${count(total, 'need')} that neither the source nor the distribution meets`}>
          <ul>
            {requirements.map(({ name, needed_by: by }) => (
              <li key={name}>
                <span className="mono">{name}</span>, needed by <span className="mono">{by}</span>
              </li>
            ))}
          </ul>
          {total > requirements.length && <Text size="sm">{`The first ${requirements.length} of ${total}.`}</Text>}
        </Folded>
      )}
    </>
  )
}

function Policy({ policy: { actions, unscanned } }: { policy: PlanAnswer['policy'] }) {
  return (
    <div style={{ display: 'flex', gap: '0.4rem 1rem', flexWrap: 'wrap' }}>
      {(Object.keys(POLICY) as (keyof typeof POLICY)[])
        .filter((action) => actions[action] > 0)
        .map((action) => (
          <Toned key={action} tone={POLICY[action].tone}>{`${actions[action]} ${POLICY[action].word}`}</Toned>
        ))}
      {unscanned > 0 && <Toned tone="unknown">{`${unscanned} of them without advisories to judge them by`}</Toned>}
    </div>
  )
}

function ComingRows({ packages, missing }: { packages: PlanAnswer['packages']; missing: number }) {
  return (
    <>
      <Rows
        of={packages}
        label="What would come"
        id={idOf}
        columns={[
          { head: 'Package', cell: ({ name }) => name },
          { head: 'Version', cell: ({ version }) => <span className="mono">{version}</span> },
          { head: 'Arch', cell: ({ arch }) => arch },
          ...(packages.some(({ needed_by: by }) => by !== null)
            ? [{ head: 'Needed by', cell: ({ needed_by: by }: Coming) => by }]
            : []),
          { head: 'Size', number: true, cell: ({ size_bytes: size }) => bytes(size) },
          { head: 'Findings', number: true, cell: ({ findings }) => findings },
          {
            head: 'Would be',
            cell: ({ action }) => <Toned tone={POLICY[action].tone}>{POLICY[action].word}</Toned>,
          },
        ]}
      />
      {missing > packages.length && <Text size="sm">{`The first ${packages.length} of ${missing}.`}</Text>}
    </>
  )
}

function Refused({ plan: { refused, refused_packages: packages } }: { plan: PlanAnswer }) {
  if (refused === 0) return null
  return (
    <Folded title={`${count(refused, 'package')} not fetched: the gate refused the same bytes before`}>
      <Rows
        of={packages}
        label="Refused before"
        id={idOf}
        columns={[
          { head: 'Package', cell: (one) => <span className="mono">{idOf(one)}</span> },
          { head: 'Why', cell: ({ code, detail }) => detail ?? code.replaceAll('_', ' ') },
          { head: 'When', cell: ({ refused_at: at }) => <When at={at} /> },
        ]}
      />
    </Folded>
  )
}

function Listed({ title, total, packages }: { title: string; total: number; packages: readonly Named[] }) {
  if (total === 0) return null
  return (
    <Folded title={title}>
      <ul>
        {packages.map((one) => (
          <li key={idOf(one)} className="mono">
            {idOf(one)}
          </li>
        ))}
      </ul>
      {total > packages.length && <Text size="sm">{`The first ${packages.length} of ${total}.`}</Text>}
    </Folded>
  )
}

function Folded({ title, children }: { title: string; children: ReactNode }) {
  return (
    <details>
      <summary>
        <Text size="sm" span>
          {title}
        </Text>
      </summary>
      {children}
    </details>
  )
}

const idOf = ({ name, version, arch }: Named) => `${name} ${version} ${arch}`
