// After the set-up: the lines for the first machine, and links to continue.
import { Anchor, Button, Group, Select, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { read } from '../../api/api.ts'
import { Answer } from '../../parts/answer.tsx'
import { useCodenames } from '../../parts/distributions.ts'
import { Snippet } from '../../parts/snippet.tsx'
import { Frame } from '../../parts/frame.tsx'

export function Ready() {
  const codenames = useCodenames()
  const [chosen, setChosen] = useState<string | null>(null)
  const codename = chosen ?? codenames[0]
  return (
    <Frame title="Ready">
      <Text size="sm">You are signed in. A machine installs from here once these lines ran on it.</Text>
      <Select
        label="Distribution of the machine"
        data={codenames}
        value={codename ?? null}
        onChange={setChosen}
        allowDeselect={false}
        searchable
      />
      {/* The lines of one distribution never appear below the name of another. */}
      {codename && <Lines key={codename} codename={codename} />}
      <Group>
        <Button component={Link} to="/upload" search={{ distribution: codename } as never}>
          Upload the first package
        </Button>
        <Anchor component={Link} to="/" size="sm">
          Overview
        </Anchor>
      </Group>
    </Frame>
  )
}

function Lines({ codename }: { codename: string }) {
  const setup = useQuery(read('GET /distributions/{codename}/setup', { params: { codename } }))
  return (
    <Answer of={setup} rows={2}>
      {({ command }) => <Snippet label={`Set up a machine for ${codename}`} text={command} />}
    </Answer>
  )
}
