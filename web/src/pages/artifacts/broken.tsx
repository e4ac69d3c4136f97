// What a planned change would break.
import { Alert } from '@mantine/core'
import { count } from '../../parts/words.ts'

interface BrokenPackage {
  name: string
  version: string
  arch: string
  distribution: string
  requirement: string
}

export function Broken({ of, total }: { of: readonly BrokenPackage[]; total: number }) {
  if (total === 0) return null
  return (
    <Alert color="red" variant="outline" title={`${count(total, 'package')} could not be installed any more`}>
      <ul style={{ margin: 0, paddingLeft: '1.2em' }}>
        {of.slice(0, 20).map(({ name, version, arch, distribution, requirement }) => (
          <li key={`${name} ${version} ${arch} ${distribution}`}>
            <span className="mono">{`${name} ${version}`}</span> in {distribution} needs{' '}
            <span className="mono">{requirement}</span>
          </li>
        ))}
      </ul>
    </Alert>
  )
}
