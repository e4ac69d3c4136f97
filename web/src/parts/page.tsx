// The frame of a page: its title, the controls beside it, and the document's title.
import { Group, Text, Title } from '@mantine/core'
import { useEffect, type ReactNode } from 'react'
import { useArrival } from './arrival.ts'
import { Foreign } from './foreign.tsx'

export function Page({
  title,
  about,
  actions,
  children,
}: {
  title: string
  about?: ReactNode
  actions?: ReactNode
  children: ReactNode
}) {
  useArrival()
  useEffect(() => {
    document.title = `${title} · Gatehouse`
  }, [title])
  return (
    <>
      <Group justify="space-between" align="flex-start" mb="md" gap="sm">
        <div style={{ minWidth: 0 }}>
          <Title
            order={1}
            size="h2"
            tabIndex={-1}
            id="page-title"
            style={{ overflowWrap: 'anywhere', outline: 'none' }}
          >
            {title}
          </Title>
          {about && (
            <Text size="sm" c="dimmed" component="div" style={{ overflowWrap: 'anywhere' }}>
              {typeof about === 'string' ? <Foreign>{about}</Foreign> : about}
            </Text>
          )}
        </div>
        {actions && <Group gap="xs">{actions}</Group>}
      </Group>
      {children}
    </>
  )
}

export function Section({ title, actions, children }: { title: string; actions?: ReactNode; children: ReactNode }) {
  return (
    <section style={{ marginBottom: '2rem' }}>
      <Group justify="space-between" mb="xs">
        <Title order={2} size="h4">
          {title}
        </Title>
        {actions}
      </Group>
      {children}
    </section>
  )
}
