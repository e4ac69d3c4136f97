// Links in long lists. The router's own Link follows every change of the address, which costs more than the rest of a row.
import { useRouter } from '@tanstack/react-router'
import type { MouseEvent, ReactNode } from 'react'

interface ListLinkProps {
  /** the target, for a new tab and for copying */
  href: string
  /** opens the target in this tab */
  follow: () => void
  children: ReactNode
}

export function ListLink({ href, follow, children }: ListLinkProps) {
  const onClick = (event: MouseEvent) => {
    const elsewhere = event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey
    if (elsewhere || event.defaultPrevented) return
    event.preventDefault()
    follow()
  }
  return (
    <a href={href} onClick={onClick}>
      {children}
    </a>
  )
}

/** The name of a package, as a link to its page. */
export function PackageLink({ name }: { name: string }) {
  const router = useRouter()
  const where = { to: '/packages/$name', params: { name } } as const
  return (
    <ListLink href={router.buildLocation(where).publicHref} follow={() => void router.navigate(where)}>
      {name}
    </ListLink>
  )
}
