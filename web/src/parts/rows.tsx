// A plain table. Each column is declared once, with its content.
import { memo, type ReactNode } from 'react'
import { Link } from '@tanstack/react-router'
import { shown } from './foreign.tsx'

export interface Column<T> {
  /** empty for a column of buttons */
  head: string
  cell: (row: T) => ReactNode
  /** right-aligned figures */
  number?: boolean
  /** the value of the URL's `sort` for this column */
  sort?: string
}

/** The head of a column of buttons. It is read aloud and not shown, because the buttons say what they do. */
const ACTIONS = 'Actions'

interface RowsProps<T> {
  of: readonly T[]
  columns: readonly Column<T>[]
  id: (row: T) => string
  /** describes the table to screen readers */
  label: string
  sort?: string
  selected?: string
}

export function Rows<T>({ of, columns, id, label, sort, selected }: RowsProps<T>) {
  return (
    <div className="scroll-x" tabIndex={0} role="region" aria-label={label}>
      <table className="rows">
        <thead>
          <tr>
            {columns.map((column) => (
              <th
                key={column.head}
                className={column.number ? 'number' : undefined}
                aria-sort={sortState(column.sort, sort)}
              >
                {column.sort ? (
                  <SortLink column={column.sort} sort={sort} head={column.head} />
                ) : column.head === '' ? (
                  <span className="visually-hidden">{ACTIONS}</span>
                ) : (
                  column.head
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {of.map((row) => (
            <Row key={id(row)} of={row} columns={columns} isSelected={id(row) === selected} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

interface RowProps<T> {
  of: T
  columns: readonly Column<T>[]
  isSelected: boolean
}

/** Rendered again only when its row changes, provided that the columns are declared outside of the page. */
const Row = memo(function Row<T>({ of, columns, isSelected }: RowProps<T>) {
  return (
    <tr data-selected={isSelected || undefined}>
      {columns.map((column) => (
        <td key={column.head} className={column.number ? 'number' : undefined}>
          {written(column.cell(of))}
        </td>
      ))}
    </tr>
  )
}) as <T>(props: RowProps<T>) => ReactNode

/** Plain text may come from packages and people. */
const written = (content: ReactNode) => (typeof content === 'string' ? shown(content) : content)

function sortState(column: string | undefined, sort: string | undefined) {
  if (!column) return undefined
  return sort === column ? 'ascending' : sort === `-${column}` ? 'descending' : 'none'
}

function SortLink({ column, sort, head }: { column: string; sort: string | undefined; head: string }) {
  const next = sort === column ? `-${column}` : column
  const arrow = sort === column ? ' ▲' : sort === `-${column}` ? ' ▼' : ''
  return (
    <Link to="." search={((now: object) => ({ ...now, sort: next, page: undefined })) as never}>
      {head}
      {arrow}
    </Link>
  )
}
