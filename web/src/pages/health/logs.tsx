// The service log: the newest entries, and following it live. Entries that the stream had to drop are reported.
import { Button, Code, Switch, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { client, readList, type Answered } from '../../api/api.ts'
import { Answer, Empty } from '../../parts/answer.tsx'
import { ChoiceFilter, Filters, TextFilter } from '../../parts/filters.tsx'
import { Foreign } from '../../parts/foreign.tsx'
import { Toned } from '../../parts/marks.tsx'
import { Page } from '../../parts/page.tsx'
import { utc } from '../../parts/when.tsx'

const LEVELS = ['debug', 'info', 'warn', 'error']
const route = getRouteApi('/logs')
type Entry = Answered<'GET /logs'>['items'][number]

/** More lines would make the browser slow. */
const MOST_SHOWN = 1_000

export default function Logs() {
  const { q, level } = route.useSearch()
  const [following, setFollowing] = useState(false)
  const list = useQuery(readList('GET /logs', { query: { q, level, limit: 200 } }))
  const { entries, dropped } = useFollowed(following, q, level)
  return (
    <Page title="Logs" about="Newest first, without secrets. Times are UTC.">
      <Filters>
        <TextFilter name="q" label="Text" value={q} />
        <ChoiceFilter name="level" label="From level" value={level} choices={LEVELS} />
        <Switch
          label="Follow"
          mb={6}
          checked={following}
          onChange={(event) => setFollowing(event.currentTarget.checked)}
        />
        {!following && (
          <Button variant="default" size="sm" onClick={() => void list.refetch()}>
            Read again
          </Button>
        )}
      </Filters>
      {dropped > 0 && (
        <Text role="status">{dropped} entries were left out because they came faster than they could be sent.</Text>
      )}
      <Answer of={list} rows={12}>
        {({ items, complete }) => {
          const shown = [...entries, ...items].slice(0, MOST_SHOWN)
          if (shown.length === 0) return <Empty title="No entry matches" />
          return (
            <>
              <div role="log" aria-live={following ? 'polite' : 'off'}>
                {shown.map((entry, i) => (
                  <Line key={`${entry.timestamp} ${entry.message} ${shown.length - i}`} of={entry} />
                ))}
              </div>
              {!complete && (
                <Text c="dimmed">Older files were not searched to their end; a narrower filter finds more.</Text>
              )}
            </>
          )
        }}
      </Answer>
    </Page>
  )
}

function Line({ of: { timestamp, level, message, name, data, request_id: request } }: { of: Entry }) {
  return (
    <div
      style={{ borderBottom: '1px solid var(--gh-line)', padding: '0.2rem 0', fontSize: 'var(--mantine-font-size-sm)' }}
    >
      <span className="mono">{utc(timestamp).replace(' UTC', '')}</span>{' '}
      <Toned tone={level === 'error' || level === 'fatal' ? 'bad' : level === 'warn' ? 'care' : 'good'}>{level}</Toned>{' '}
      {name && <b>{name}: </b>}
      <Foreign>{message}</Foreign> {request && <span className="mono">{request}</span>}
      {data && (
        <details>
          <summary>more</summary>
          <Code block>
            <Foreign>{JSON.stringify(data, null, 2)}</Foreign>
          </Code>
        </details>
      )}
    </div>
  )
}

function useFollowed(on: boolean, q: string | undefined, level: string | undefined) {
  const [entries, setEntries] = useState<Entry[]>([])
  const [dropped, setDropped] = useState(0)
  useEffect(() => {
    setEntries([])
    setDropped(0)
    if (!on) return
    const end = new AbortController()
    const query = new URLSearchParams({ ...(q && { q }), ...(level && { level }) }).toString()
    void (async () => {
      for await (const result of client.events(`/logs/stream${query && `?${query}`}`, { signal: end.signal })) {
        if (!result.ok) continue
        const { event, data } = result.data
        if (event === 'dropped') setDropped((now) => now + (data as { count: number }).count)
        else setEntries((now) => [data as Entry, ...now].slice(0, MOST_SHOWN))
      }
    })()
    return () => end.abort()
  }, [on, q, level])
  return { entries, dropped }
}
