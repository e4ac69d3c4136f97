// One package: how to install it, its versions by distribution, its findings, its dependencies, and the decisions about it.
import { Button, Group, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import { linkTo, read } from '../../api/api.ts'
import { Answer } from '../../parts/answer.tsx'
import { Status } from '../../parts/marks.tsx'
import { Page } from '../../parts/page.tsx'
import { When } from '../../parts/when.tsx'
import { HELD_REASONS, bytes, count } from '../../parts/words.ts'
import { useMay } from '../../session/session.ts'
import { Charts } from './charts.tsx'
import { DeleteVersion } from './delete.tsx'
import { Install } from './install.tsx'
import { Matrix } from './matrix.tsx'
import { Quarantine } from './quarantine.tsx'
import { Promote } from './promote.tsx'
import type { Detail, PackageRecord } from '../../parts/record.ts'
import { RecordTabs } from './tabs.tsx'
import { Verdicts } from '../../parts/verdicts.tsx'

const route = getRouteApi('/packages/$name')

export default function Package() {
  const { name } = route.useParams()
  const detail = useQuery(read('GET /artifacts/{name}', { params: { name } }))
  return <Answer of={detail}>{(data) => <Known key={data.name} detail={data} />}</Answer>
}

function Known({ detail }: { detail: Detail }) {
  const asked = route.useSearch()
  const [asks, setAsks] = useState<'promote' | 'quarantine' | 'delete' | null>(null)
  const mayMaintain = useMay('maintainer+')
  const mayAudit = useMay('auditor+')
  const record = recordOf(detail, asked) ?? detail.versions[0]
  if (!record) return <Page title={detail.name}>This package has no records any more.</Page>
  const { distribution, arch } = record
  return (
    <Page
      title={detail.name}
      about={detail.info.description}
      actions={
        mayMaintain && (
          <>
            {record.status === 'published' && <Button onClick={() => setAsks('promote')}>Promote</Button>}
            {record.status === 'pending_review' && (
              <Button
                component={Link}
                to="/review"
                search={{ item: `${detail.name} ${record.version} ${arch} ${distribution}` } as never}
              >
                Review
              </Button>
            )}
            {record.status === 'published' && (
              <Button variant="default" onClick={() => setAsks('quarantine')}>
                Quarantine
              </Button>
            )}
            <Button variant="default" onClick={() => setAsks('delete')}>
              Delete
            </Button>
          </>
        )
      }
    >
      {record.status === 'published' && <Install key={distribution} record={record} />}
      {detail.blast_radius && detail.blast_radius.downloads > 0 && (
        <Text size="sm" mb="md">
          {`Downloaded ${count(detail.blast_radius.downloads, 'time')} by ${count(detail.blast_radius.clients, 'client')} in ${detail.blast_radius.days} days.`}
        </Text>
      )}
      <Matrix detail={detail} shown={record} />
      {asked.version && asked.version !== record.version && (
        <Text size="sm" role="status" mb="md">
          Version <span className="mono">{asked.version}</span> is not among these. The latest is shown.
        </Text>
      )}
      <Charts detail={detail} shown={record} />
      <Summary record={record} />
      <Verdicts record={record} />
      <RecordTabs record={record} history={detail.history} />
      {mayAudit && <Documents record={record} />}
      {asks === 'promote' && <Promote record={record} close={() => setAsks(null)} />}
      {asks === 'quarantine' && <Quarantine record={record} close={() => setAsks(null)} />}
      {asks === 'delete' && <DeleteVersion record={record} close={() => setAsks(null)} />}
    </Page>
  )
}

/** Version, place and state of the record that is shown. */
function Summary({ record }: { record: PackageRecord }) {
  const { distribution, arch } = record
  return (
    <Group gap="lg" mb="md">
      <Text fw={650} className="mono">
        {record.version}
      </Text>
      <Text size="sm">
        {distribution}, {arch}
      </Text>
      <Status value={record.status} />
      {record.status === 'pending_review' && <HeldReason reason={record.held_reason} />}
      <Text size="sm" c="dimmed">
        {bytes(record.size_bytes)}, {record.source.import_method} by {record.imported_by}{' '}
        <When at={record.imported_at} />
      </Text>
    </Group>
  )
}

function Documents({ record: { name, version, distribution, arch } }: { record: PackageRecord }) {
  const params = { name, version }
  const narrowed = { distribution, arch }
  return (
    <Text size="sm" mt="lg" component="p">
      SBOM of this version:{' '}
      <a href={linkTo('GET /sbom/{name}/{version}', { params, query: { ...narrowed, format: 'cyclonedx' } })}>
        CycloneDX
      </a>
      , <a href={linkTo('GET /sbom/{name}/{version}', { params, query: { ...narrowed, format: 'spdx' } })}>SPDX</a>,{' '}
      <a href={linkTo('GET /sbom/{name}/{version}/sarif', { params, query: narrowed })}>SARIF</a>
    </Text>
  )
}

type Asked = Pick<Partial<PackageRecord>, 'version' | 'distribution' | 'arch'>

/** The record that the URL names; where the URL leaves something open, the first match. */
function recordOf({ versions }: Detail, { version, distribution, arch }: Asked): PackageRecord | undefined {
  const ofVersion = version ? versions.filter((one) => one.version === version) : versions
  const placed = distribution ? ofVersion.filter((one) => one.distribution === distribution) : ofVersion
  return placed.find((one) => one.arch === arch) ?? placed[0] ?? ofVersion[0]
}

function HeldReason({ reason }: { reason: string | null | undefined }) {
  return reason ? <Text size="sm">held: {HELD_REASONS[reason] ?? reason}</Text> : null
}
