// All API tokens, for administrators.
import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { read } from '../../api/api.ts'
import { Answer, Empty } from '../../parts/answer.tsx'
import { Page } from '../../parts/page.tsx'
import { NewToken } from './new-token.tsx'
import { TokenList } from './token-list.tsx'

export default function Tokens() {
  const list = useQuery(read('GET /auth/api-tokens'))
  const [creating, setCreating] = useState(false)
  return (
    <Page
      title="API tokens"
      about="For pipelines and scripts. A token never has more rights than the person who made it."
      actions={<Button onClick={() => setCreating(true)}>New token</Button>}
    >
      <Answer of={list}>
        {({ tokens }) =>
          tokens.length === 0 ? (
            <Empty title="No tokens yet">A pipeline needs one to upload.</Empty>
          ) : (
            <TokenList of={tokens} own={false} />
          )
        }
      </Answer>
      {creating && <NewToken own={false} close={() => setCreating(false)} />}
    </Page>
  )
}
