// The frame of the pages without a session.
import { Center, Paper, Stack, Text, Title } from '@mantine/core'
import { useEffect, type ReactNode } from 'react'
import { Logo } from './logo.tsx'

export function Frame({ title, children }: { title: string; children: ReactNode }) {
  useEffect(() => {
    document.title = `${title} · Gatehouse`
  }, [title])
  return (
    <Center component="main" mih="100vh" p="md">
      <Paper withBorder p="xl" w="100%" maw={440}>
        <Stack>
          <div>
            <Text component="div" className="brand" mb="sm">
              <Logo />
              Gatehouse
            </Text>
            <Title order={1} size="h3">
              {title}
            </Title>
          </div>
          {children}
        </Stack>
      </Paper>
    </Center>
  )
}
