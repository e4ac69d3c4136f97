// The API tokens of the person, who needs no administrator for them.
import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { read } from '../../api/api.ts'
import { Answer, Empty } from '../../parts/answer.tsx'
import { Page } from '../../parts/page.tsx'
import { useMay } from '../../session/session.ts'
import { NewToken } from './new-token.tsx'
import { TokenList } from './token-list.tsx'

export default function OwnTokens() {
  const list = useQuery(read('GET /auth/me/tokens'))
  const mayCreate = useMay('uploader+')
  const [creating, setCreating] = useState(false)
  return (
    <Page
      title="Your API tokens"
      about="For your pipelines and scripts. A token never has more rights than you have, and ends with your account."
      actions={mayCreate && <Button onClick={() => setCreating(true)}>New token</Button>}
    >
      <Answer of={list}>
        {({ tokens }) =>
          tokens.length === 0 ? (
            <Empty title="You have no tokens yet">
              {mayCreate ? 'A pipeline needs one to upload.' : 'Uploaders and maintainers can make some.'}
            </Empty>
          ) : (
            <TokenList of={tokens} own />
          )
        }
      </Answer>
      {creating && <NewToken own close={() => setCreating(false)} />}
    </Page>
  )
}
