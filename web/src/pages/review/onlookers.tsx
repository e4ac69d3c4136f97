// Who else has this package open at the moment. The page says so itself, and asks, while it is looked at.
import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { call } from '../../api/api.ts'
import { Toned } from '../../parts/marks.tsx'
import type { RecordId } from './record-id.ts'

/** The service forgets a person after 45 s. */
const AGAIN_MS = 15_000
/** Who goes on sooner has not looked at it. */
const DWELL_MS = 700

export function Onlookers({ record }: { record: RecordId }) {
  const { name, version, distribution, arch } = record
  const stays = useStays()
  const { data } = useQuery({
    queryKey: ['POST /security/packages/{name}/{version}/onlookers', record],
    queryFn: () =>
      call('POST /security/packages/{name}/{version}/onlookers', {
        params: { name, version },
        query: { distribution, arch },
      }),
    enabled: stays,
    staleTime: 0,
    gcTime: 0,
    // Not in a tab that nobody looks at.
    refetchInterval: AGAIN_MS,
    refetchIntervalInBackground: false,
  })
  return (
    <div role="status">{data && data.others.length > 0 && <Toned tone="care">{onlookersOf(data.others)}</Toned>}</div>
  )
}

function useStays(): boolean {
  const [stays, setStays] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setStays(true), DWELL_MS)
    return () => clearTimeout(timer)
  }, [])
  return stays
}

/** @returns "ann and bob look at it too" */
function onlookersOf(names: readonly string[]): string {
  const last = names.at(-1) ?? ''
  return names.length === 1 ? `${last} looks at it too` : `${names.slice(0, -1).join(', ')} and ${last} look at it too`
}
