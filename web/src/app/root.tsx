// What surrounds every page: sign-in first, then the frame with its navigation, then the check of the role.
import { Alert, Button, Center, Code, Loader } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Outlet, useLocation, useMatches, useNavigate, useRouter } from '@tanstack/react-router'
import { useEffect } from 'react'
import { mayAccess } from '../../../src/domain/roles.ts'
import { useLive } from '../api/live.ts'
import { Failure } from '../parts/answer.tsx'
import { Page } from '../parts/page.tsx'
import { keepAlive } from '../session/keep-alive.ts'
import { onSessionEnd } from '../api/renewal.ts'
import { sessionQuery } from '../session/session.ts'
import type { PageFacts } from './navigation.ts'
import { Shell } from './shell.tsx'

export function Root() {
  const session = useQuery(sessionQuery)
  const queries = useQueryClient()
  const navigate = useNavigate()
  const here = useLocation({ select: ({ pathname }) => pathname })
  const router = useRouter()
  // Facts about the page of the address, not about the shown one: the page of a new address may still be loading.
  const [, , found] = router.getMatchedRoutes(here)
  const facts: PageFacts | undefined = found?.options.staticData?.page
  const shown = useMatches({ select: (matches) => matches.at(-1)?.staticData.page })
  const user = session.data?.user
  const isPublic = facts?.access === null

  useEffect(() => {
    const leave = () => {
      // The answer to an older request: somebody may be typing there already.
      if (location.pathname.endsWith('/login')) return
      queries.clear()
      void queries.refetchQueries({ queryKey: sessionQuery.queryKey })
      const next = `${location.pathname}${location.search}`
      void navigate({ to: '/login', search: { next } })
    }
    onSessionEnd(leave)
    return keepAlive(queries, leave)
  }, [queries, navigate])

  useEffect(() => {
    if (!session.data || isPublic) return
    if (session.data.needs_setup) void navigate({ to: '/setup', replace: true })
    else if (!user)
      void navigate({ to: '/login', replace: true, search: here === '/' ? {} : { next: router.latestLocation.href } })
  }, [session.data, user, isPublic, here, navigate, router])

  const mustEnrol = user?.mfa_enrolment_required === true
  useEffect(() => {
    if (mustEnrol && here !== '/account') void navigate({ to: '/account', replace: true })
  }, [mustEnrol, here, navigate])

  useLive(user !== null && user !== undefined && !mustEnrol)

  if (session.isError && !session.data)
    return (
      <Center p="xl">
        <Failure error={session.error} retry={() => void session.refetch()} />
      </Center>
    )
  // The page of a new address may still be loading, and the old page must not request what the person may not read.
  // The old page must not move into the frame either: mounted again, it would repeat its work, such as a sign-in.
  if (isPublic && shown?.access === null) return <Outlet />
  if (!user || isPublic || shown?.access === null)
    return (
      <Center h="60vh">
        <Loader aria-label="Loading" />
      </Center>
    )
  const allowed = !facts?.access || mayAccess(user.role, facts.access)
  return <Shell>{allowed ? <Outlet /> : <Forbidden access={facts.access ?? 'admin'} role={user.role} />}</Shell>
}

function Forbidden({ access, role }: { access: string; role: string }) {
  return (
    <Page title="Your role does not allow this">
      <Alert color="gray" variant="outline">
        This page needs <Code>{access.endsWith('+') ? `${access.slice(0, -1)} or more` : access}</Code>; you are{' '}
        <Code>{role}</Code>. An administrator can change that under Users.
        <div style={{ marginTop: '1rem' }}>
          <Button variant="default" onClick={() => history.back()}>
            Back
          </Button>
        </div>
      </Alert>
    </Page>
  )
}
