// API tokens: those of the person, who needs no administrator for them, or all, for administrators.
import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { read } from '../../api/api.ts'
import { Answer, Empty } from '../../parts/answer.tsx'
import { Page } from '../../parts/page.tsx'
import { useMay } from '../../session/session.ts'
import { NewToken } from './new-token.tsx'
import { TokenList } from './token-list.tsx'

export default function Tokens() {
  return <TokenPage own={false} />
}

export function OwnTokens() {
  return <TokenPage own />
}

const ALL = {
  title: 'API tokens',
  about: 'For pipelines and scripts. A token never has more rights than the person who made it.',
  none: 'No tokens yet',
}
const OWN = {
  title: 'Your API tokens',
  about: 'For your pipelines and scripts. A token never has more rights than you have, and ends with your account.',
  none: 'You have no tokens yet',
}

function TokenPage({ own }: { own: boolean }) {
  const { title, about, none } = own ? OWN : ALL
  const list = useQuery(read(own ? 'GET /auth/me/tokens' : 'GET /auth/api-tokens'))
  const mayCreate = useMay('uploader+')
  const [creating, setCreating] = useState(false)
  return (
    <Page
      title={title}
      about={about}
      actions={mayCreate && <Button onClick={() => setCreating(true)}>New token</Button>}
    >
      <Answer of={list}>
        {({ tokens }) =>
          tokens.length === 0 ? (
            <Empty title={none}>
              {mayCreate ? 'A pipeline needs one to upload.' : 'Uploaders and maintainers can make some.'}
            </Empty>
          ) : (
            <TokenList of={tokens} own={own} />
          )
        }
      </Answer>
      {creating && <NewToken own={own} close={() => setCreating(false)} />}
    </Page>
  )
}
