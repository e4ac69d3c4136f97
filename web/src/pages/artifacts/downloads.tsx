// Who downloaded a package in the last days, by address and program.
import { Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { read } from '../../api/api.ts'
import { Answer, Empty } from '../../parts/answer.tsx'
import { Rows } from '../../parts/rows.tsx'
import { count } from '../../parts/words.ts'
import type { PackageRecord } from '../../parts/record.ts'

export function Downloads({ record: { name, format, version, distribution, arch } }: { record: PackageRecord }) {
  const downloads = useQuery(
    read('GET /downloads/packages/{name}', {
      params: { name },
      query: { format, version, distribution, arch, days: 90 },
    }),
  )
  return (
    <Answer of={downloads}>
      {({ downloaded_by: clients, downloads: times, clients: addresses, days, total }) =>
        clients.length === 0 ? (
          <Empty title={`Nobody downloaded it in ${days} days`} />
        ) : (
          <>
            <Text size="sm" mb="sm">
              {`${count(times, 'download')} by ${count(addresses, 'address', 'addresses')} in ${days} days.`}
              {total > clients.length && ` The latest ${clients.length} of ${total} entries:`}
            </Text>
            <Rows
              of={clients}
              label="Downloads"
              id={({ ip, reader, user_agent: agent, date }) => `${ip} ${reader ?? ''} ${agent} ${date}`}
              columns={[
                { head: 'Day', cell: ({ date }) => date },
                { head: 'Address', cell: ({ ip }) => <span className="mono">{ip}</span> },
                { head: 'Signed in as', cell: ({ reader }) => reader ?? '' },
                { head: 'Client', cell: ({ client_type: type, user_agent: agent }) => agent || type },
                { head: 'Downloads', number: true, cell: ({ downloads: n }) => n },
              ]}
            />
          </>
        )
      }
    </Answer>
  )
}
