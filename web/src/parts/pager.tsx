// Which part of a list this is, and links to the others. Pages are links, so Back and new tabs work.
import { Group, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'

export function Pager({ page, pages, total, what }: { page: number; pages: number; total: number; what: string }) {
  const to = (n: number) => (now: Record<string, unknown>) => ({ ...now, page: n === 1 ? undefined : n })
  return (
    <Group gap="md" mt="sm" component="nav" aria-label="Pages">
      <Text size="sm" c="dimmed">
        {`${new Intl.NumberFormat().format(total)} ${what}`}
        {pages > 1 && `, page ${page} of ${pages}`}
      </Text>
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
    </Group>
  )
}
