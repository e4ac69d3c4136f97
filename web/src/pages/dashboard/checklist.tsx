// What a new installation still lacks. Shown to admins until everything is done or they hide it; then this browser asks no more.
import { Button, Paper, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link, type LinkProps } from '@tanstack/react-router'
import { Circle, CircleCheck } from 'lucide-react'
import { useEffect, useState } from 'react'
import { read, type Answered } from '../../api/api.ts'

const HIDDEN = 'gatehouse:checklist-hidden'

interface Item {
  title: string
  why: string
  to: LinkProps['to']
  done: boolean
}

export function Checklist({ stats }: { stats: Answered<'GET /dashboard/stats'> }) {
  const [hidden, setHidden] = useState(() => localStorage.getItem(HIDDEN) !== null)
  const hide = () => {
    localStorage.setItem(HIDDEN, '1')
    setHidden(true)
  }
  const asked = { enabled: !hidden }
  const users = useQuery({ ...read('GET /auth/users'), ...asked })
  const backups = useQuery({ ...read('GET /backup'), ...asked })
  const scanner = useQuery({ ...read('GET /security/vulnscan/status'), ...asked })
  const answers =
    users.data && backups.data && scanner.data
      ? { users: users.data, backups: backups.data, scanner: scanner.data }
      : null
  const items = answers ? itemsOf(stats, answers) : []
  const done = items.filter((item) => item.done).length
  const isComplete = answers !== null && done === items.length
  useEffect(() => {
    if (isComplete) hide()
  }, [isComplete])
  // An item whose answer is missing must not appear as undone for a moment.
  if (hidden || !answers || isComplete) return null
  return (
    <Paper withBorder p="md" mb="lg" component="section" aria-label="First steps">
      <div className="panel-head">
        <Text fw={600}>
          First steps, {done} of {items.length} done
        </Text>
        <Button variant="subtle" color="gray" size="compact-sm" onClick={hide}>
          Hide
        </Button>
      </div>
      <ol className="checklist">
        {items.map(({ title, why, to, done: isDone }) => (
          <li key={title} data-done={isDone || undefined}>
            {isDone ? <CircleCheck size={16} aria-label="done" /> : <Circle size={16} aria-label="to do" />}
            {isDone ? <span>{title}</span> : <Link to={to}>{title}</Link>}
            {!isDone && <small>{why}</small>}
          </li>
        ))}
      </ol>
    </Paper>
  )
}

interface Answers {
  users: Answered<'GET /auth/users'>
  backups: Answered<'GET /backup'>
  scanner: Answered<'GET /security/vulnscan/status'>
}

function itemsOf(stats: Answered<'GET /dashboard/stats'>, { users, backups, scanner }: Answers): Item[] {
  return [
    {
      title: 'Load advisories',
      why: 'Without them no vulnerability is found.',
      to: '/health',
      done: (scanner.feeds ?? []).some(({ read_at: at }) => at !== null),
    },
    {
      title: 'Connect the malware scanner',
      why: 'Without clamd uploads are not scanned for malware.',
      to: '/health',
      done: stats.antivirus.available,
    },
    {
      title: 'Bring in the first package',
      why: 'Upload one, or import from a source.',
      to: '/upload',
      done: stats.packages.total > 0,
    },
    {
      title: 'Invite a second person',
      why: 'So that uploads are approved by somebody else.',
      to: '/users',
      done: users.users.length > 1,
    },
    {
      title: 'Make the first backup',
      why: 'And try to restore it elsewhere.',
      to: '/backup',
      done: backups.backups.length > 0,
    },
  ]
}
