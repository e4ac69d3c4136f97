// The sources: when each was last read, errors, and a button to read it now.
import { Button, Text } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { call, read, type Answered } from '../../api/api.ts'
import { Answer, Failure } from '../../parts/answer.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { Toned } from '../../parts/marks.tsx'
import { Section } from '../../parts/page.tsx'
import { Rows } from '../../parts/rows.tsx'
import { When } from '../../parts/when.tsx'
import { useMay } from '../../session/session.ts'
import { SourceForm } from './source-form.tsx'

type Source = Answered<'GET /import/sources'>['sources'][number]

export function Sources() {
  const list = useQuery(read('GET /import/sources'))
  const queries = useQueryClient()
  const mayChange = useMay('maintainer+')
  const [form, setForm] = useState<Source | 'new' | null>(null)
  const [deleted, setDeleted] = useState<Source | null>(null)
  const sync = useMutation({
    mutationFn: (id: number) => call('POST /import/sync/{source}', { params: { source: String(id) } }),
    onSuccess: () => queries.invalidateQueries(),
  })
  return (
    <Section
      title="Sources"
      actions={
        mayChange && (
          <Button size="compact-sm" variant="default" onClick={() => setForm('new')}>
            New source
          </Button>
        )
      }
    >
      {sync.isError && <Failure error={sync.error} />}
      <Answer of={list}>
        {({ sources }) => (
          <Rows
            of={[...sources].sort(
              (a, b) =>
                Number(b.enabled) - Number(a.enabled) ||
                Number(b.pkg_count > 0) - Number(a.pkg_count > 0) ||
                a.name.localeCompare(b.name),
            )}
            label="Sources"
            id={({ id }) => String(id)}
            columns={[
              {
                head: 'Source',
                cell: ({ name, url, security }) => (
                  <>
                    {name}
                    {security && ' (security)'}
                    <Text size="xs" c="dimmed" className="mono">
                      {url}
                    </Text>
                  </>
                ),
              },
              { head: 'Into', cell: ({ target }) => target },
              { head: 'State', cell: (source) => <State of={source} /> },
              {
                head: 'Packages',
                number: true,
                cell: ({ pkg_count: n, id }) =>
                  n > 0 ? (
                    <Link from="/import" to="/import" search={(now) => ({ ...now, source: id })}>
                      {n}
                    </Link>
                  ) : (
                    0
                  ),
              },
              { head: 'Read', cell: ({ last_sync: at }) => <When at={at} /> },
              {
                head: '',
                cell: (source) =>
                  mayChange ? (
                    <div style={{ display: 'flex', gap: '0.3rem' }}>
                      <Button
                        size="compact-xs"
                        variant="default"
                        disabled={!source.enabled || source.status === 'syncing'}
                        onClick={() => sync.mutate(source.id)}
                        aria-label={`Read ${source.name} now`}
                      >
                        Read now
                      </Button>
                      <Button
                        size="compact-xs"
                        variant="default"
                        onClick={() => setForm(source)}
                        aria-label={`Change ${source.name}`}
                      >
                        Change
                      </Button>
                      {source.key === null && (
                        <Button
                          size="compact-xs"
                          variant="default"
                          onClick={() => setDeleted(source)}
                          aria-label={`Delete ${source.name}`}
                        >
                          Delete
                        </Button>
                      )}
                    </div>
                  ) : null,
              },
            ]}
          />
        )}
      </Answer>
      {form && <SourceForm source={form === 'new' ? null : form} close={() => setForm(null)} />}
      {deleted && (
        <Confirm
          title={`Delete the source ${deleted.name}`}
          action="Delete"
          close={() => setDeleted(null)}
          run={() => call('DELETE /import/sources/{id}', { params: { id: deleted.id } as never })}
        >
          Its catalog goes; packages that were imported stay.
        </Confirm>
      )}
    </Section>
  )
}

function State({ of: { enabled, status, error } }: { of: Source }) {
  if (!enabled) return <Toned tone="unknown">switched off</Toned>
  if (status === 'error') return <Toned tone="bad">{error ?? 'failed'}</Toned>
  return (
    <Toned tone={status === 'ok' ? 'good' : 'unknown'}>
      {status === 'ok' ? 'read' : status === 'syncing' ? 'being read' : 'never read'}
    </Toned>
  )
}
