// A version of a package, as a link to its page.
import { Link } from '@tanstack/react-router'

export function VersionLink({ name, version }: { name: string; version: string }) {
  return (
    <Link to="/packages/$name" params={{ name }} search={{ version }} className="mono">{`${name} ${version}`}</Link>
  )
}
