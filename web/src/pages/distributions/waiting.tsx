// Open reviews of a distribution: how long the oldest ones have been waiting.
import { Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { read } from '../../api/api.ts'
import { Answer } from '../../parts/answer.tsx'
import { Lanes } from '../../parts/chart.tsx'
import { Section } from '../../parts/page.tsx'
import { distance } from '../../parts/when.tsx'
import { count } from '../../parts/words.ts'

const DAY_MS = 86_400_000
/** Days that the scale shows at least, so that the bar of a review from today is short. */
const WEEK = 7
const MOST_SHOWN = 8

export function OpenReviews({ codename }: { codename: string }) {
  const queue = useQuery(
    read('GET /security/review-queue', {
      query: { distribution: codename, sort: 'since', per_page: MOST_SHOWN, include_findings: false },
    }),
  )
  return (
    <Section title="Open reviews">
      <Answer of={queue} rows={3}>
        {({ items, total }) =>
          items.length === 0 ? (
            <Text size="sm">None: nothing waits for a decision here.</Text>
          ) : (
            <>
              <div style={{ maxWidth: 760 }}>
                <Lanes
                  title={`What waits longest${total > items.length ? `, ${items.length} of ${total}` : ''}`}
                  heads={['Package', 'Since']}
                  atLeast={WEEK}
                  lanes={items.map(({ name, version, arch, review_since: since, sla }) => ({
                    id: `${name} ${version} ${arch}`,
                    label: (
                      <Link
                        to="/review"
                        search={{ distribution: codename, item: `${name} ${version} ${arch} ${codename}` } as never}
                      >
                        {name} <span className="mono">{version}</span>
                      </Link>
                    ),
                    parts: [
                      {
                        color: sla.expired ? 'var(--gh-bad)' : 'var(--gh-review)',
                        value: since ? Math.max(0, Date.now() - Date.parse(since)) / DAY_MS : 0,
                      },
                    ],
                    text: `${since ? distance(since) : 'not known'}${sla.expired ? ', overdue' : ''}`,
                  }))}
                />
              </div>
              <Link to="/review" search={{ distribution: codename }}>
                {count(total, 'open review')}
              </Link>
            </>
          )
        }
      </Answer>
    </Section>
  )
}
