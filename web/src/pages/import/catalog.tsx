// Searches the catalogs, and imports one package with its dependencies.
import { Button, Group, Modal, Select, Stack, Switch, Text } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import { call, read, readList, type Answered } from '../../api/api.ts'
import { problemOf } from '../../api/problem.ts'
import { Answer, Empty, Failure } from '../../parts/answer.tsx'
import { useDistributions } from '../../parts/distributions.ts'
import { Filters, TextFilter } from '../../parts/filters.tsx'
import { Foreign } from '../../parts/foreign.tsx'
import { Rows } from '../../parts/rows.tsx'
import { bytes, count } from '../../parts/words.ts'

const route = getRouteApi('/import')
type Found = Answered<'GET /import/search'>['results'][number]

export function Catalog() {
  const { q, source } = route.useSearch()
  const [chosen, setChosen] = useState<Found | null>(null)
  const list = useQuery({
    ...readList('GET /import/search', { query: { q: q ?? '', source_id: source, limit: 50 } }),
    enabled: q !== undefined,
  })
  return (
    <>
      <Filters>
        <TextFilter name="q" label="Package in a catalog" value={q} />
      </Filters>
      {q !== undefined &&
        (list.isError && problemOf(list.error).code === 'index_empty' ? (
          <Empty title="No catalog was read yet">Read one of the sources below first.</Empty>
        ) : (
          <Answer of={list}>
            {({ results, more }) =>
              results.length === 0 ? (
                <Empty title={`No catalog has a package with "${q}" in its name`} />
              ) : (
                <>
                  <Rows
                    of={results}
                    label="Packages of the sources"
                    id={({ source_id: id, name, version, arch, sha256 }) =>
                      `${id} ${name} ${version} ${arch} ${sha256 ?? ''}`
                    }
                    columns={[
                      {
                        head: 'Name',
                        cell: ({ name, description }) => (
                          <>
                            {name}
                            <Text size="xs" c="dimmed" lineClamp={1}>
                              <Foreign>{description}</Foreign>
                            </Text>
                          </>
                        ),
                      },
                      { head: 'Version', cell: ({ version }) => <span className="mono">{version}</span> },
                      { head: 'Arch', cell: ({ arch }) => arch },
                      {
                        head: 'From',
                        cell: ({ sources }) =>
                          sources
                            .map(({ distro, security }) => `${distro ?? ''}${security ? ' (security)' : ''}`)
                            .join(', '),
                      },
                      { head: 'Size', number: true, cell: ({ size }) => bytes(size) },
                      {
                        head: '',
                        cell: (found) => (
                          <Button
                            size="compact-xs"
                            variant="default"
                            onClick={() => setChosen(found)}
                            aria-label={`Import ${found.name} ${found.version}`}
                          >
                            Import
                          </Button>
                        ),
                      },
                    ]}
                  />
                  {more && (
                    <Text size="sm">
                      The first {results.length} of more; a longer name or another word finds fewer.
                    </Text>
                  )}
                </>
              )
            }
          </Answer>
        ))}
      {chosen && <ImportOne found={chosen} close={() => setChosen(null)} />}
    </>
  )
}

function ImportOne({ found, close }: { found: Found; close: () => void }) {
  const { name, version, arch, source_id, format } = found
  const targets = useDistributions().data?.distributions.filter((one) => one.active && one.format === format) ?? []
  const [distribution, setDistribution] = useState<string | null>(null)
  const [deep, setDeep] = useState(true)
  const queries = useQueryClient()
  const resolved = useQuery({
    ...read('GET /import/resolve/{package}', {
      params: { package: name },
      query: { distribution: distribution ?? '', source_id, version, arch },
    }),
    enabled: distribution !== null,
  })
  const bring = useMutation({
    mutationFn: () =>
      call('POST /import/packages', {
        body: { source_id, package: name, version, arch, distribution: distribution ?? '', with_dependencies: deep },
      }),
    onSuccess: () => queries.invalidateQueries(),
  })
  return (
    <Modal opened onClose={close} title={`Import ${name} ${version}`} size="lg">
      <Stack>
        <Select
          label="Into"
          data={targets.map(({ codename }) => codename)}
          value={distribution}
          onChange={setDistribution}
          searchable
          data-autofocus
        />
        <Switch
          label="With everything it needs that is not here"
          checked={deep}
          onChange={(event) => setDeep(event.currentTarget.checked)}
        />
        {distribution && deep && (
          <Answer of={resolved} rows={3}>
            {({ to_download: coming, download_bytes: size, already_in_repo: here, packages, missing }) => (
              <>
                <Text size="sm">{`${count(coming, 'package')} would come (${bytes(size)}), ${here} are here already.`}</Text>
                <details>
                  <summary>Which</summary>
                  <ul>
                    {packages
                      .filter((one) => !one.already_in_repo)
                      .slice(0, 200)
                      .map((one) => (
                        <li
                          key={`${one.name} ${one.version ?? ''} ${one.arch ?? ''}`}
                          className="mono"
                        >{`${one.name} ${one.version ?? ''}`}</li>
                      ))}
                  </ul>
                </details>
                {missing.length > 0 && (
                  <Text size="sm">Not found anywhere: {missing.map((one) => one.name).join(', ')}</Text>
                )}
              </>
            )}
          </Answer>
        )}
        {bring.isError && <Failure error={bring.error} />}
        {bring.data && (
          <Text role="status" size="sm">
            {bring.data.message}{' '}
            <Link to="/packages/$name" params={{ name }} search={{ version: bring.data.version }}>
              Show it
            </Link>
          </Text>
        )}
        <Group>
          <Button disabled={!distribution || bring.isSuccess} loading={bring.isPending} onClick={() => bring.mutate()}>
            {bring.isPending ? 'Importing…' : 'Import'}
          </Button>
          <Button variant="default" onClick={close}>
            Close
          </Button>
        </Group>
      </Stack>
    </Modal>
  )
}
