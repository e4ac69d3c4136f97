// The return from the identity provider.
import { Anchor, Loader } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import { Failure } from '../../parts/answer.tsx'
import { ownPath } from '../../session/next.ts'
import { sessionQuery } from '../../session/session.ts'
import { finishSso } from '../../session/sso.ts'
import { Frame } from '../../parts/frame.tsx'

const route = getRouteApi('/oidc-callback')

export default function OidcCallback() {
  const { code, state, error } = route.useSearch()
  const navigate = useNavigate()
  const queries = useQueryClient()
  const started = useRef(false)
  const finish = useMutation({
    mutationFn: async () => {
      if (error) throw new Error(`the provider answered: ${error}`)
      return finishSso(code ?? '', state ?? '')
    },
    onSuccess: async (next) => {
      await queries.refetchQueries({ queryKey: sessionQuery.queryKey })
      await navigate({ href: ownPath(next), replace: true })
    },
  })
  useEffect(() => {
    // A code works only once, and React runs effects twice in development.
    if (started.current) return
    started.current = true
    history.replaceState(null, '', location.pathname)
    finish.mutate()
  }, [finish])
  return (
    <Frame title="Signing in">
      {finish.isError ? (
        <>
          <Failure error={finish.error} />
          <Anchor component={Link} to="/login">
            Sign in again
          </Anchor>
        </>
      ) : (
        <Loader aria-label="Signing in" />
      )}
    </Frame>
  )
}
