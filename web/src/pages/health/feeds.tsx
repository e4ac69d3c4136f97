// How old the data of each feed are: advisories, scores, malware signatures. Old data find nothing new.
import { Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { read } from '../../api/api.ts'
import { Answer } from '../../parts/answer.tsx'
import { Lanes } from '../../parts/chart.tsx'
import { Toned } from '../../parts/marks.tsx'
import { distance } from '../../parts/when.tsx'

/** Feeds are read daily: after two days something is wrong. */
const OLD_MS = 2 * 86_400_000

interface Feed {
  name: string
  read_at: string | null
  error: string | null
}

export function FeedAges() {
  const advisories = useQuery(read('GET /security/vulnscan/status'))
  const lists = useQuery(read('GET /security/vulnscan/feeds/status'))
  const malware = useQuery(read('GET /security/antivirus/status'))
  return (
    <Answer of={advisories} rows={3}>
      {({ feeds = [] }) => {
        const signatures = malware.data?.db_date
        const all = [
          ...feeds.map((feed) => ({ ...feed, name: `advisories: ${feed.name}` })),
          ...(lists.data?.feeds ?? []).map((feed) => ({ ...feed, name: feed.name.toUpperCase() })),
          ...(signatures ? [{ name: 'malware signatures', read_at: signatures, error: null }] : []),
        ]
        if (all.length === 0) return <Text size="sm">No feed was read yet.</Text>
        return (
          <div style={{ maxWidth: 760, marginTop: '1rem' }}>
            <Lanes
              title="Age of each feed, the oldest first"
              heads={['Feed', 'Age']}
              atLeast={OLD_MS}
              lanes={all
                .sort((a, b) => ageOf(b) - ageOf(a))
                .map((feed) => ({
                  id: feed.name,
                  label: feed.name,
                  parts: [
                    {
                      color: isOld(feed) ? 'var(--gh-care)' : 'var(--gh-good)',
                      value: Number.isFinite(ageOf(feed)) ? ageOf(feed) : 0,
                    },
                  ],
                  text: <Age of={feed} />,
                }))}
            />
          </div>
        )
      }}
    </Answer>
  )
}

const ageOf = ({ read_at: at }: Feed) => (at ? Math.max(0, Date.now() - Date.parse(at)) : Infinity)
const isOld = (feed: Feed) => ageOf(feed) > OLD_MS

function Age({ of: feed }: { of: Feed }) {
  if (feed.read_at === null) return <Toned tone="unknown">{feed.error ?? 'never read'}</Toned>
  const said = distance(feed.read_at)
  if (feed.error !== null) return <Toned tone="care">{`${said}; the last try failed: ${feed.error}`}</Toned>
  return <Toned tone={isOld(feed) ? 'care' : 'good'}>{said}</Toned>
}
