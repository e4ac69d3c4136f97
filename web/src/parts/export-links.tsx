// The entries that the filters of a list match, as a file.
import type { Endpoint } from '../api/api.ts'
import { linkTo } from '../api/api.ts'

interface ExportProps {
  of: Endpoint
  /** the filters of the list */
  query: Record<string, string | boolean | undefined>
}

export function ExportLinks({ of, query }: ExportProps) {
  const filters = Object.fromEntries(
    Object.entries(query).map(([name, value]) => [name, value === undefined ? value : String(value)]),
  )
  return (
    <>
      <a href={linkTo(of, { query: filters })}>Export as JSON</a>
      <a href={linkTo(of, { query: { ...filters, as: 'csv' } })}>Export as CSV</a>
    </>
  )
}
