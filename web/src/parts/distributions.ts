// The distributions, for filters and forms.
import { useQuery } from '@tanstack/react-query'
import { read } from '../api/api.ts'

export function useDistributions() {
  return useQuery({ ...read('GET /distributions'), staleTime: 60_000 })
}

/** Codenames of the distributions that are served. */
export function useCodenames(): string[] {
  return useDistributions().data?.distributions.flatMap(({ codename, active }) => (active ? [codename] : [])) ?? []
}
