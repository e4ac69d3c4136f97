// The members of a group, in the order in which a name is looked for.
import { MultiSelect } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { read } from '../../api/api.ts'
import { Section } from '../../parts/page.tsx'
import type { Change, Details } from './registries.ts'

interface MembersProps {
  of: Details
  readOnly: boolean
  change: (body: Change) => void
}

export function Members({ of: { format, members }, readOnly, change }: MembersProps) {
  return (
    <Section title="Members">
      <ol>
        {members.map((name) => (
          <li key={name}>
            <Link to="/repositories/$format/$name" params={{ format, name }}>{`${format}/${name}`}</Link>
          </li>
        ))}
      </ol>
      <Choice {...{ format, members, readOnly }} choose={(chosen) => change({ members: chosen })} />
    </Section>
  )
}

interface ChoiceProps {
  format: string
  members: string[]
  readOnly?: boolean
  choose: (members: string[]) => void
}

/** Of the repositories of the format, those that are no groups. */
export function Choice({ format, members, readOnly = false, choose }: ChoiceProps) {
  const known = useQuery({ ...read('GET /registries'), enabled: !readOnly })
  if (readOnly) return null
  return (
    <MultiSelect
      label="Members"
      description="The first one that has a name gives it"
      maw={480}
      data={(known.data?.repositories ?? [])
        .filter((one) => one.format === format && one.kind !== 'group')
        .map(({ name }) => name)}
      value={members}
      onChange={choose}
    />
  )
}
