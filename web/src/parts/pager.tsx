// The position in a list, and links to its other pages. Pages are links, so Back and new tabs work.
import { Group, NativeSelect, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { memo, useEffect, useEffectEvent } from 'react'
import { PAGE_SIZES } from '../search.ts'
import { Waiting } from './answer.tsx'
import { useFilter } from './filters.tsx'
import { amount } from './words.ts'

/**
 * A page beyond the end of a list with entries, after the last entries were decided or from an old link. Goes to the last page;
 * it never says that the list is empty.
 */
export function PastEnd({ pages }: { pages: number }) {
  const filter = useFilter()
  const go = useEffectEvent(() => filter({ page: pages <= 1 ? undefined : pages }, true))
  useEffect(() => go(), [pages])
  return <Waiting />
}

interface PagerProps {
  page: number
  pages: number
  total: number
  what: string
  /** rows on a page, where the URL may state another number */
  size?: number
}

export const Pager = memo(function Pager({ page, pages, total, what, size }: PagerProps) {
  const filter = useFilter()
  const to = (n: number) => (now: Record<string, unknown>) => ({ ...now, page: n === 1 ? undefined : n })
  return (
    <Group gap="md" mt="sm" component="nav" aria-label="Pagination">
      <Text size="sm" c="dimmed">
        {`${amount(total)} ${what}`}
        {pages > 1 && `, page ${page} of ${pages}`}
      </Text>
      {page > 2 && (
        <Link to="." search={to(1)}>
          First
        </Link>
      )}
      {page > 1 && (
        <Link to="." search={to(page - 1)} rel="prev">
          Previous
        </Link>
      )}
      {page < pages && (
        <Link to="." search={to(page + 1)} rel="next">
          Next
        </Link>
      )}
      {page < pages - 1 && (
        <Link to="." search={to(pages)}>
          Last
        </Link>
      )}
      {size !== undefined && total > PAGE_SIZES[0] && (
        <NativeSelect
          aria-label="Rows on a page"
          size="xs"
          value={size}
          data={PAGE_SIZES.map((value) => ({ value: String(value), label: `${value} rows` }))}
          onChange={({ currentTarget: { value } }) =>
            filter({ size: Number(value) === PAGE_SIZES[0] ? undefined : Number(value) })
          }
        />
      )}
    </Group>
  )
})
