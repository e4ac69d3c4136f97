// Repositories of libraries: what is there, and a form for a new one.
import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { read } from '../../api/api.ts'
import { Answer, Empty } from '../../parts/answer.tsx'
import { Page } from '../../parts/page.tsx'
import { Rows } from '../../parts/rows.tsx'
import { useMay } from '../../session/session.ts'
import { CreateRepository } from './create.tsx'

export default function Repositories() {
  const list = useQuery(read('GET /registries'))
  const mayChange = useMay('admin')
  const [creating, setCreating] = useState(false)
  return (
    <Page
      title="Repositories"
      about="Libraries for npm and pip. Open one for the lines that set up a client."
      actions={mayChange && <Button onClick={() => setCreating(true)}>New repository</Button>}
    >
      <Answer of={list}>
        {({ repositories }) =>
          repositories.length === 0 ? (
            <Empty title="No repositories yet">
              A hosted repository keeps the libraries that your teams publish; a proxy gives those of another registry.
              Each passes the same gate as packages do.
            </Empty>
          ) : (
            <Rows
              of={repositories}
              label="Repositories"
              id={({ key }) => key}
              columns={[
                {
                  head: 'Repository',
                  cell: ({ key, format, name }) => (
                    <Link to="/repositories/$format/$name" params={{ format, name }}>
                      {key}
                    </Link>
                  ),
                },
                { head: 'Kind', cell: ({ kind, members }) => (kind === 'group' ? `group of ${members.length}` : kind) },
                { head: 'Packages', number: true, cell: ({ packages }) => packages },
                { head: 'Readers', cell: (one) => (one.public ? 'everybody' : 'with a token') },
                { head: 'Description', cell: ({ description }) => description },
              ]}
            />
          )
        }
      </Answer>
      {creating && <CreateRepository close={() => setCreating(false)} />}
    </Page>
  )
}
