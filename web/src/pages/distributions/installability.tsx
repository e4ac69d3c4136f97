// Whether everything in the distribution can be installed, and a minimal cause where it cannot.
import { Button, Text } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { call, read } from '../../api/api.ts'
import { Answer, Failure } from '../../parts/answer.tsx'
import { Toned } from '../../parts/marks.tsx'
import { Section } from '../../parts/page.tsx'
import { When } from '../../parts/when.tsx'
import { count } from '../../parts/words.ts'
import { useMay } from '../../session/session.ts'

export function Installability({ codename }: { codename: string }) {
  const given = { params: { codename } }
  const result = useQuery(read('GET /distributions/{codename}/installability', given))
  const mayMaintain = useMay('maintainer+')
  const check = useMutation({
    mutationFn: () => call('POST /distributions/{codename}/installability', given),
    onSuccess: () => setTimeout(() => void result.refetch(), 3_000),
  })
  return (
    <Section
      title="Installability"
      actions={
        mayMaintain && (
          <Button size="compact-sm" variant="default" loading={check.isPending} onClick={() => check.mutate()}>
            Check now
          </Button>
        )
      }
    >
      {check.isError && <Failure error={check.error} />}
      {check.isSuccess && <Text size="sm">The check runs; its result appears here.</Text>}
      <Answer of={result} rows={2}>
        {({
          checked_at: at,
          current,
          uninstallable,
          uninstallable_total: total,
          undecided_total: undecided,
          total: packages,
        }) => (
          <>
            {at === null ? (
              <Toned tone="unknown">not checked yet</Toned>
            ) : (
              <>
                <Toned tone={total > 0 ? 'bad' : current ? 'good' : 'unknown'}>
                  {total > 0
                    ? `${count(total, 'package')} of ${packages} cannot be installed`
                    : `all ${count(packages, 'package')} could be installed`}
                </Toned>
                <Text size="sm" c="dimmed">
                  Checked <When at={at} />
                  {!current && '; packages have changed since then'}
                  {undecided > 0 && `; ${undecided} not decided`}
                </Text>
              </>
            )}
            <ul style={{ paddingLeft: '1.2em' }}>
              {uninstallable.slice(0, 20).map(({ name, version, arch, causes }) => (
                <li key={`${name} ${version} ${arch}`}>
                  <span className="mono">{`${name} ${version} ${arch}`}</span>: {causes[0]?.sentence}
                </li>
              ))}
            </ul>
          </>
        )}
      </Answer>
    </Section>
  )
}
