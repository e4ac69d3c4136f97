// Backups: make one, download, delete. Deleting asks for the name.
import { Button, Text } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { call, linkTo, read } from '../../api/api.ts'
import { Answer, Empty, Failure } from '../../parts/answer.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { Page } from '../../parts/page.tsx'
import { Rows } from '../../parts/rows.tsx'
import { When } from '../../parts/when.tsx'
import { bytes } from '../../parts/words.ts'

export default function Backup() {
  const list = useQuery(read('GET /backup'))
  const queries = useQueryClient()
  const [deleted, setDeleted] = useState<string | null>(null)
  const make = useMutation({ mutationFn: () => call('POST /backup'), onSuccess: () => queries.invalidateQueries() })
  return (
    <Page
      title="Backup"
      about={list.data && `In ${list.data.directory}; the newest ${list.data.retention_count} are kept.`}
      actions={
        <Button onClick={() => make.mutate()} loading={make.isPending}>
          Make a backup
        </Button>
      }
    >
      {make.isError && <Failure error={make.error} />}
      {make.isPending && <Text role="status">The archive is written and verified. Uploads go on meanwhile.</Text>}
      <Answer of={list}>
        {({ backups }) =>
          backups.length === 0 ? (
            <Empty title="No backups yet">
              Make one, or let the service make one each night:{' '}
              <Link to="/settings/$section" params={{ section: 'backup' }}>
                settings
              </Link>
              .
            </Empty>
          ) : (
            <Rows
              of={backups}
              label="Backups"
              id={({ name }) => name}
              columns={[
                {
                  head: 'Name',
                  cell: ({ name }) => (
                    <a href={linkTo('GET /backup/{name}', { params: { name } })} download={name}>
                      {name}
                    </a>
                  ),
                },
                { head: 'Made', cell: ({ created_at: at }) => <When at={at} /> },
                { head: 'Size', number: true, cell: ({ size_bytes: size }) => bytes(size) },
                { head: 'SHA-256', cell: ({ sha256 }) => <span className="mono">{sha256?.slice(0, 16)}…</span> },
                {
                  head: '',
                  cell: ({ name }) => (
                    <Button
                      size="compact-xs"
                      variant="default"
                      onClick={() => setDeleted(name)}
                      aria-label={`Delete ${name}`}
                    >
                      Delete
                    </Button>
                  ),
                },
              ]}
            />
          )
        }
      </Answer>
      {deleted && (
        <Confirm
          title="Delete a backup"
          action="Delete"
          typed={deleted}
          close={() => setDeleted(null)}
          run={() => call('DELETE /backup/{name}', { params: { name: deleted } })}
        >
          {deleted} cannot be brought back.
        </Confirm>
      )}
    </Page>
  )
}
