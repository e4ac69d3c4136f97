// The frame: navigation by role, search, the account. On narrow screens the navigation is a drawer.
import {
  ActionIcon,
  Anchor,
  AppShell,
  Badge,
  Burger,
  Button,
  Group,
  Kbd,
  Menu,
  NavLink,
  Text,
  UnstyledButton,
} from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { spotlight } from '@mantine/spotlight'
import { useQuery } from '@tanstack/react-query'
import { Link, useLocation } from '@tanstack/react-router'
import { Search } from 'lucide-react'
import { lazy, Suspense, useEffect, useRef, useState, type ReactNode } from 'react'
import { mayAccess } from '../../../src/domain/roles.ts'
import { read } from '../api/api.ts'
import { useConnection } from '../api/live.ts'
import { signOut } from '../session/keep-alive.ts'
import { useSession } from '../session/session.ts'
import { focusTitle, Shown } from '../parts/arrival.ts'
import { useGoKeys } from './go-keys.ts'
import { Logo } from '../parts/logo.tsx'
import { GROUPS, useNavigation } from './navigation.ts'

const Palette = lazy(() => import('./palette.tsx'))

export function Shell({ children }: { children: ReactNode }) {
  const [opened, { toggle, close }] = useDisclosure(false)
  // Only the path of the address: every filter and every key press in a list changes the rest.
  const here = useLocation({ select: ({ pathname }) => pathname })
  const session = useSession()
  const wide = useWide()
  const shown = useRef<string | null>(null)
  useGoKeys()
  useEffect(close, [here, close])

  return (
    <AppShell
      header={{ height: 52 }}
      navbar={{ width: 210, breakpoint: 'sm', collapsed: { mobile: !opened } }}
      padding="md"
    >
      {/* The document has a base address, and relative to it a mere fragment would be another page. */}
      <a
        className="skip-link"
        href={`${location.pathname}#page-title`}
        onClick={(event) => {
          event.preventDefault()
          focusTitle()
        }}
      >
        Skip to content
      </a>
      <AppShell.Header>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group gap="sm" wrap="nowrap">
            <Burger opened={opened} onClick={toggle} hiddenFrom="sm" size="sm" aria-label="Navigation" />
            <Link to="/" className="brand">
              <Logo />
              Gatehouse
            </Link>
          </Group>
          <Group gap="sm" wrap="nowrap">
            <Button
              variant="default"
              size="xs"
              onClick={spotlight.open}
              leftSection={<Search size={14} aria-hidden />}
              rightSection={wide ? <Kbd size="xs">/</Kbd> : undefined}
            >
              Search
            </Button>
            <AccountMenu />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="xs" style={{ overflowY: 'auto' }}>
        <Navigation here={here} />
        <Text size="xs" c="dimmed" px="sm" mt="auto">
          Gatehouse {session?.version}
        </Text>
      </AppShell.Navbar>
      <AppShell.Main id="main">
        <Banners secure={session?.secure ?? true} />
        <Shown value={shown}>{children}</Shown>
      </AppShell.Main>
      <Suspense>
        <Palette />
      </Suspense>
    </AppShell>
  )
}

function AccountMenu() {
  const user = useSession()?.user
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <UnstyledButton aria-label={`Account of ${user?.username ?? ''}`}>
          <Text size="sm" fw={600} truncate maw={160}>
            {user?.username}
          </Text>
          <Text size="xs" c="dimmed">
            {user?.role}
          </Text>
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item component={Link} to="/account">
          Your account
        </Menu.Item>
        <Menu.Item onClick={() => void signOut().then((address) => location.assign(address))}>Sign out</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}

/** The pages that the person may open. @param here the path that is shown */
function Navigation({ here }: { here: string }) {
  const user = useSession()?.user
  const summary = useQuery({ ...read('GET /dashboard/summary'), enabled: user !== undefined })
  const waiting = summary.data?.pending_reviews ?? 0
  const allowed = useNavigation().filter(({ access }) => user && access && mayAccess(user.role, access))
  return (
    <nav aria-label="Pages">
      {Object.entries(GROUPS).map(([group, label]) => {
        const entries = allowed.filter((entry) => entry.group === group)
        return entries.length === 0 ? null : (
          <div key={group} className="navigation">
            {label && (
              <Text size="xs" c="dimmed" px="xs" pb={4} fw={600}>
                {label}
              </Text>
            )}
            {entries.map(({ path, title, icon: Icon }) => (
              <NavLink
                key={path}
                leftSection={Icon && <Icon size={16} aria-hidden />}
                component={Link}
                to={path}
                activeOptions={{ exact: path === '/' }}
                label={title}
                active={path === '/' ? here === '/' : here === path || here.startsWith(`${path}/`)}
                variant="light"
                rightSection={
                  path === '/review' && waiting > 0 ? (
                    <Badge variant="default" size="sm">
                      {waiting}
                    </Badge>
                  ) : undefined
                }
              />
            ))}
          </div>
        )
      })}
    </nav>
  )
}

/** Warnings for every page: a connection without TLS, and an interrupted stream of events. */
function Banners({ secure }: { secure: boolean }) {
  const connection = useConnection()
  const [hidden, setHidden] = useState(() => sessionStorage.getItem('plain-http-seen') === '1')
  const local = ['localhost', '127.0.0.1', '[::1]'].includes(location.hostname)
  const hide = () => {
    sessionStorage.setItem('plain-http-seen', '1')
    setHidden(true)
  }
  return (
    <>
      {!secure && !local && !hidden && (
        <Group role="status" gap="sm" mb="sm" p="xs" style={{ border: '1px solid var(--gh-line)' }}>
          <Text size="sm">
            This connection is not encrypted: passwords and sessions can be read on the way. Put a TLS proxy in front
            and name it in <span className="mono">TRUSTED_PROXIES</span>.
          </Text>
          <ActionIcon variant="subtle" color="gray" onClick={hide} aria-label="Hide this note">
            ×
          </ActionIcon>
        </Group>
      )}
      {connection === 'polling' && (
        <Text size="sm" role="status" mb="sm" c="dimmed">
          Live updates are cut off. The numbers are read again every 30 seconds.{' '}
          <Anchor component={Link} to="/health">
            Health
          </Anchor>
        </Text>
      )}
    </>
  )
}

function useWide(): boolean {
  const [wide, setWide] = useState(() => matchMedia('(min-width: 48em)').matches)
  useEffect(() => {
    const list = matchMedia('(min-width: 48em)')
    const change = () => setWide(list.matches)
    list.addEventListener('change', change)
    return () => list.removeEventListener('change', change)
  }, [])
  return wide
}
