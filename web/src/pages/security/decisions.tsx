// Decisions: what was approved, rejected or excepted, by whom, until when; and revoking one.
import { Button, Group, Modal, SegmentedControl, Stack, Text, Textarea } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import { call, linkTo, read, readList, type Answered } from '../../api/api.ts'
import { Answer, Empty, Failure } from '../../parts/answer.tsx'
import { ExportLinks } from '../../parts/export-links.tsx'
import { Filters, useFilter } from '../../parts/filters.tsx'
import { Toned } from '../../parts/marks.tsx'
import { Page } from '../../parts/page.tsx'
import { PastEnd, Pager } from '../../parts/pager.tsx'
import { Rows } from '../../parts/rows.tsx'
import { VersionLink } from '../../parts/version-link.tsx'
import { When } from '../../parts/when.tsx'
import { ACTIONS } from '../../parts/words.ts'
import { useMay, useSession } from '../../session/session.ts'

const route = getRouteApi('/decisions')
type Decision = Answered<'GET /security/decisions'>['decisions'][number]

export default function Decisions() {
  const { show, page = 1, size = 50 } = route.useSearch()
  const filter = useFilter()
  const mayDecide = useMay('maintainer+')
  const [withdrawn, setWithdrawn] = useState<Decision | null>(null)
  const all = useQuery({
    ...readList('GET /security/decisions', {
      query: { page, per_page: size, ...(show === 'all' ? {} : { active: true }) },
    }),
    enabled: show !== 'mine',
  })
  const mine = useQuery({ ...read('GET /security/decisions/mine'), enabled: show === 'mine' })
  const list = show === 'mine' ? mine : all
  const me = useSession()?.user?.username
  const exported = show === 'all' ? {} : show === 'mine' ? { assigned_to: me } : { active: true }
  return (
    <Page
      title="Decisions"
      actions={
        <>
          <ExportLinks of="GET /security/decisions/export" query={exported} />
          <a href={linkTo('GET /sbom/openvex')}>OpenVEX</a>
        </>
      }
    >
      <Filters>
        <SegmentedControl
          aria-label="Which decisions"
          value={show ?? 'active'}
          onChange={(value) => filter({ show: value === 'active' ? undefined : value })}
          data={[
            { value: 'active', label: 'In force' },
            { value: 'mine', label: 'Assigned to me' },
            { value: 'all', label: 'All' },
          ]}
        />
      </Filters>
      <Answer of={list}>
        {(data) =>
          data.decisions.length === 0 && 'pages' in data && data.total > 0 ? (
            <PastEnd pages={data.pages} />
          ) : data.decisions.length === 0 ? (
            <Empty title="No decisions">
              Decisions are made in the <Link to="/review">review queue</Link>.
            </Empty>
          ) : (
            <>
              <Rows
                of={data.decisions}
                label="Decisions"
                id={({ id }) => String(id)}
                columns={[
                  {
                    head: 'Package',
                    cell: ({ package: name, version }) => <VersionLink name={name} version={version} />,
                  },
                  { head: 'Decision', cell: ({ action }) => (ACTIONS as Record<string, string>)[action] ?? action },
                  { head: 'Scope', cell: (decision) => <Scope of={decision} /> },
                  { head: 'Why', cell: ({ justification }) => justification },
                  {
                    head: 'By',
                    cell: ({ decided_by: who, decided_at: at }) => (
                      <>
                        {who} <When at={at} />
                      </>
                    ),
                  },
                  { head: 'Until', cell: (decision) => <Until decision={decision} /> },
                  {
                    head: '',
                    cell: (decision) =>
                      mayDecide && decision.active ? (
                        <Button
                          size="compact-xs"
                          variant="default"
                          onClick={() => setWithdrawn(decision)}
                          aria-label={`Withdraw the decision about ${decision.package} ${decision.version}`}
                        >
                          Withdraw
                        </Button>
                      ) : null,
                  },
                ]}
              />
              <Pager
                page={page}
                pages={'pages' in data ? data.pages : 1}
                total={data.total}
                what={data.total === 1 ? 'decision' : 'decisions'}
                size={size}
              />
            </>
          )
        }
      </Answer>
      {withdrawn && <Withdraw decision={withdrawn} close={() => setWithdrawn(null)} />}
    </Page>
  )
}

/** Where a decision applies, and to which findings. */
function Scope({ of: { distribution, arch, cve_ids: ids } }: { of: Decision }) {
  return (
    <>
      {distribution}, {arch}
      {ids.length === 0 ? (
        <Text size="xs" c="dimmed">
          no finding by name
        </Text>
      ) : ids.length <= 3 ? (
        <Text size="xs" c="dimmed">
          {ids.join(', ')}
        </Text>
      ) : (
        <details>
          <summary>
            <Text size="xs" c="dimmed" span>
              {ids.length} findings
            </Text>
          </summary>
          <Text size="xs">{ids.join(', ')}</Text>
        </details>
      )}
    </>
  )
}

function Until({ decision: { active, expires_at: until, sla } }: { decision: Decision }) {
  if (!active) return <>ended</>
  if (until === null) return <>no end</>
  return (
    <Toned tone={sla.expired ? 'bad' : sla.warning ? 'care' : 'good'}>
      {sla.expired ? 'expired' : `${sla.remaining_days ?? 0} days left`}
    </Toned>
  )
}

function Withdraw({ decision, close }: { decision: Decision; close: () => void }) {
  const [reason, setReason] = useState('')
  const queries = useQueryClient()
  const withdraw = useMutation({
    mutationFn: () => call('DELETE /security/decisions/{id}', { params: { id: decision.id }, body: { note: reason } }),
    onSuccess: async () => {
      await queries.invalidateQueries()
      close()
    },
  })
  return (
    <Modal opened onClose={close} title={`Withdraw the decision about ${decision.package} ${decision.version}`}>
      <Stack>
        <Text size="sm">The package returns to the review queue. Clients keep getting it until somebody decides.</Text>
        <Textarea
          label="Reason"
          value={reason}
          onChange={(event) => setReason(event.currentTarget.value)}
          data-autofocus
        />
        {withdraw.isError && <Failure error={withdraw.error} />}
        <Group>
          <Button onClick={() => withdraw.mutate()} loading={withdraw.isPending}>
            Withdraw
          </Button>
          <Button variant="default" onClick={close}>
            Cancel
          </Button>
        </Group>
      </Stack>
    </Modal>
  )
}
