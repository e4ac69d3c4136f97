import { Link } from '@tanstack/react-router'
import { Page } from '../parts/page.tsx'

export function NotFound() {
  return (
    <Page title="There is no such page">
      <p>
        The address may be of an older version. <Link to="/">Overview</Link>, <Link to="/packages">Packages</Link>
      </p>
    </Page>
  )
}
