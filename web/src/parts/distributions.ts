// The distributions, for filters and forms.
import { useQuery } from '@tanstack/react-query'
import { read, type Answered } from '../api/api.ts'

export function useDistributions() {
  return useQuery({ ...read('GET /distributions'), staleTime: 60_000 })
}

const NONE: readonly string[] = []
const servedOf = ({ distributions }: Answered<'GET /distributions'>) =>
  distributions.flatMap(({ codename, active }) => (active ? [codename] : []))

/** Codenames of the served distributions; the same array as long as nothing changes. */
export function useCodenames(): readonly string[] {
  return useQuery({ ...read('GET /distributions'), staleTime: 60_000, select: servedOf }).data ?? NONE
}
